//! Words of a configuration text, as a shell would split them.

/// A quote that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenQuote(pub char);

/// Splits on white space. Single quotes keep everything, double quotes all but `\"` and `\\`, and a backslash
/// outside of quotes keeps the next character.
pub fn split(text: &str) -> Result<Vec<String>, OpenQuote> {
    let (mut words, mut word, mut started) = (Vec::new(), String::new(), false);
    let mut open: Option<char> = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, open) {
            (q, Some(o)) if q == o => open = None,
            ('\\', Some('"')) if matches!(rest.peek(), Some('"' | '\\')) => word.extend(rest.next()),
            (c, Some(_)) => word.push(c),
            ('"' | '\'', None) => {
                open = Some(c);
                started = true;
            }
            ('\\', None) => {
                word.extend(rest.next());
                started = true;
            }
            (c, None) if c.is_whitespace() => {
                if std::mem::take(&mut started) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (c, None) => {
                word.push(c);
                started = true;
            }
        }
    }
    if let Some(quote) = open {
        return Err(OpenQuote(quote));
    }
    if started {
        words.push(word);
    }
    Ok(words)
}

/// A word as it can be typed into a shell.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%^".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\"'\"'")),
    }
}

/// Words as one line for a shell.
pub fn join<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|w| quote(w.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(split(r#"a 'b c' "d \" e" f\ g '' h"i"'j'"#).unwrap(), ["a", "b c", "d \" e", "f g", "", "hij"]);
        assert_eq!(split("  \t\n ").unwrap(), Vec::<String>::new());
        assert_eq!(split("--a 'b"), Err(OpenQuote('\'')));
        assert_eq!(split("\"x"), Err(OpenQuote('"')));
    }

    #[test]
    fn what_is_quoted_splits_back() {
        for word in ["", "plain", "two words", "it's", "\"", "a\\b", "$HOME", "*", "é"] {
            assert_eq!(split(&quote(word)).unwrap(), [word]);
        }
    }
}
