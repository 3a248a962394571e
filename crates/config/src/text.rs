//! Reading a configuration text: split with quotes, `--f`, `--f v`, `--f=v`, the last one wins.

use crate::settings::{SETTINGS, Settings};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// `--help` was asked for.
    Help,
    Bad {
        flag: String,
        reason: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Help => f.write_str("help was asked for"),
            ConfigError::Bad { flag, reason } => write!(f, "{flag}: {reason}"),
        }
    }
}

/// Splits on spaces, honouring single and double quotes.
pub fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut open, mut quoted) = (Vec::new(), String::new(), None, false);
    for c in text.chars() {
        match (c, open) {
            (q, Some(o)) if q == o => open = None,
            ('"' | '\'', None) => {
                open = Some(c);
                quoted = true;
            }
            (c, None) if c.is_whitespace() => {
                if quoted || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                quoted = false;
            }
            (c, _) => word.push(c),
        }
    }
    if quoted || !word.is_empty() {
        words.push(word);
    }
    words
}

pub fn parse(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    let mut words = split(text).into_iter().peekable();
    while let Some(word) = words.next() {
        let bad = |reason: String| ConfigError::Bad { flag: word.clone(), reason };
        let Some(flag) = word.strip_prefix("--") else { return Err(bad("flags start with --".into())) };
        if flag == "help" {
            return Err(ConfigError::Help);
        }
        let (name, mut value) = match flag.split_once('=') {
            Some((n, v)) => (n.to_string(), Some(v.to_string())),
            None => (flag.to_string(), None),
        };
        if !SETTINGS.iter().any(|s| s.name == name) {
            return Err(bad("unknown flag".into()));
        }
        if value.is_none() && words.peek().is_some_and(|w| !w.starts_with("--")) {
            value = words.next();
        }
        settings.set(&name, value.as_deref()).map_err(bad)?;
    }
    settings.sysmem <<= 20;
    settings.cpus = settings.cpus.max(1);
    settings.window_size = settings.window_size.max(1);
    settings.min_cpu_chunk = settings.min_cpu_chunk.max(1);
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_wins_and_booleans_have_words() {
        let s = parse("--cpus 3 --fuse=no --cpus=2 --jit").unwrap();
        assert_eq!((s.cpus, s.fuse, s.jit), (2, false, true));
        assert!(parse("--fuse=maybe").is_err());
        assert!(parse("--nonsense").is_err());
        assert_eq!(parse("--help"), Err(ConfigError::Help));
        assert_eq!(split("a 'b c' \"d\""), ["a", "b c", "d"]);
    }
}
