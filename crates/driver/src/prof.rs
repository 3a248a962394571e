//! `numloom prof …` and `legate_prof …`: what is made of profiles once they are written.

use numloom_profile::{Profile, compare, export, findings, parquet, print, report, serve, stats, top};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One thing to do with profiles.
struct Command {
    name: &'static str,
    /// Its name under `legate_prof`; empty: it has none.
    legate: &'static str,
    words: &'static str,
    about: &'static str,
    run: fn(&Request) -> Result<(), String>,
}

const COMMANDS: [Command; 9] = [
    Command {
        name: "view",
        legate: "view",
        words: "FILES… [--port N]",
        about: "show profiles in the browser",
        run: view,
    },
    Command {
        name: "serve",
        legate: "serve",
        words: "FILES… [--port N]",
        about: "the same without opening a browser",
        run: serve_only,
    },
    Command {
        name: "html",
        legate: "archive",
        words: "FILES… [-o FILE]",
        about: "one page with the profiles in it, to keep or send",
        run: html,
    },
    Command {
        name: "stats",
        legate: "statistics",
        words: "FILES… [--all]",
        about: "time per task, line and lane; peak memory",
        run: statistics,
    },
    Command {
        name: "top",
        legate: "",
        words: "FILE [--interval SECONDS]",
        about: "what a program is doing, while it writes its profile",
        run: watch,
    },
    Command { name: "compare", legate: "", words: "A B [--all]", about: "two runs, line by line", run: compared },
    Command {
        name: "export",
        legate: "",
        words: "FILES… --format chrome|perfetto|json|parquet [-o FILE]",
        about: "for other tools",
        run: exported,
    },
    Command {
        name: "trace",
        legate: "trace",
        words: "FILES… [-o FILE]",
        about: "a trace for Perfetto and chrome://tracing",
        run: trace,
    },
    Command {
        name: "dump",
        legate: "dump",
        words: "FILES… [-o FILE]",
        about: "everything that is known, as JSON",
        run: dump,
    },
];

const ADVISE: Command =
    Command {
        name: "advise", legate: "", words: "FILES…", about: "what costs most, and what would help", run: advise
    };

/// What was asked for.
struct Request<'a> {
    files: Vec<PathBuf>,
    all: bool,
    output: Option<PathBuf>,
    format: String,
    port: u16,
    interval: Duration,
    /// The viewer's page, where the package has it.
    page: Option<&'a Path>,
}

fn commands(legate: bool) -> impl Iterator<Item = (&'static str, &'static Command)> {
    let all = COMMANDS.iter().chain(std::iter::once(&ADVISE));
    all.map(move |c| (if legate { c.legate } else { c.name }, c)).filter(|(name, _)| !name.is_empty())
}

pub fn usage(legate: bool) -> String {
    let command = if legate { "legate_prof" } else { "numloom prof" };
    let mut out = format!("usage: {command} COMMAND …\n\n");
    for (name, c) in commands(legate) {
        out.push_str(&format!("  {name} {}\n      {}\n", c.words, c.about));
    }
    out
}

/// Does what the words say; the exit status.
pub fn run(legate: bool, words: &[String], page: Option<&Path>) -> i32 {
    let command = if legate { "legate_prof" } else { "numloom prof" };
    let Some(first) = words.first().filter(|w| !matches!(w.as_str(), "-h" | "--help" | "help")) else {
        say(&usage(legate));
        return if words.is_empty() { 2 } else { 0 };
    };
    let Some((_, chosen)) = commands(legate).find(|(name, _)| name == first) else {
        eprintln!("{command}: there is no command {first}\n{}", usage(legate).trim_end());
        return 2;
    };
    let request = match read_words(&words[1..], page) {
        Ok(request) => request,
        Err(sentence) => {
            eprintln!("{command} {first}: {sentence}\nusage: {command} {first} {}", chosen.words);
            return 2;
        }
    };
    match (chosen.run)(&request) {
        Ok(()) => 0,
        Err(sentence) => {
            eprintln!("{command}: {sentence}");
            1
        }
    }
}

fn read_words<'a>(words: &[String], page: Option<&'a Path>) -> Result<Request<'a>, String> {
    let mut out = Request {
        files: Vec::new(),
        all: false,
        output: None,
        format: String::new(),
        port: 0,
        interval: Duration::from_secs(1),
        page,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, given) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_string())),
            _ => (word.as_str(), None),
        };
        let mut value = || given.clone().or_else(|| words.next().cloned()).ok_or(format!("{flag} needs a value"));
        match flag {
            "--all" => out.all = true,
            "-o" | "--output" => out.output = Some(value()?.into()),
            "--format" => out.format = value()?,
            "--port" => out.port = value()?.parse().map_err(|_| "--port needs a number up to 65535")?,
            "--interval" => {
                let seconds: f64 = value()?.parse().map_err(|_| "--interval needs a number of seconds")?;
                out.interval =
                    Duration::try_from_secs_f64(seconds).map_err(|_| "--interval needs a number of seconds")?;
            }
            _ if flag.starts_with('-') => return Err(format!("there is no flag {flag}")),
            _ => out.files.extend(profiles_in(Path::new(word))?),
        }
    }
    if out.files.is_empty() {
        return Err("a profile is needed".into());
    }
    Ok(out)
}

/// The file itself, or the profiles of a directory.
fn profiles_in(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "prof")).collect();
    found.sort();
    if found.is_empty() { Err(format!("{}: there are no profiles in it", path.display())) } else { Ok(found) }
}

fn read(path: &Path) -> Result<Profile, String> {
    Profile::read(path).map_err(|e| e.to_string())
}

fn read_all(request: &Request) -> Result<Vec<Profile>, String> {
    request.files.iter().map(|f| read(f)).collect()
}

/// To standard output; a reader that has gone away is no error.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// To the file that was asked for, or to standard output.
fn put(request: &Request, bytes: &[u8]) -> Result<(), String> {
    match &request.output {
        Some(path) => std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display())),
        None => {
            let mut out = std::io::stdout();
            let _ = out.write_all(bytes).and_then(|()| out.flush());
            Ok(())
        }
    }
}

fn statistics(request: &Request) -> Result<(), String> {
    for file in &request.files {
        let profile = read(file)?;
        say(&print::stats(&profile, &stats::stats(&profile), request.all));
    }
    Ok(())
}

fn advise(request: &Request) -> Result<(), String> {
    for profile in read_all(request)? {
        say(&findings::text(&profile, &findings::findings(&profile)));
    }
    Ok(())
}

fn compared(request: &Request) -> Result<(), String> {
    let [a, b] = request.files.as_slice() else { return Err("two profiles are needed".into()) };
    let (a, b) = (read(a)?, read(b)?);
    say(&compare::text(&a, &b, request.all));
    Ok(())
}

fn exported(request: &Request) -> Result<(), String> {
    match request.format.as_str() {
        "chrome" | "perfetto" => trace(request),
        "json" => dump(request),
        "parquet" => tables(request),
        "" => Err("--format chrome, perfetto, json or parquet is needed".into()),
        other => Err(format!("--format {other}: there are chrome, perfetto, json and parquet")),
    }
}

fn trace(request: &Request) -> Result<(), String> {
    put(request, export::chrome(&read_all(request)?).as_bytes())
}

fn dump(request: &Request) -> Result<(), String> {
    put(request, export::json(&read_all(request)?).as_bytes())
}

/// A folder with a file a table.
fn tables(request: &Request) -> Result<(), String> {
    let folder = request.output.clone().unwrap_or_else(|| request.files[0].with_extension("parquet"));
    for file in parquet::write(&read_all(request)?, &folder)? {
        say(&format!("{}\n", file.display()));
    }
    Ok(())
}

fn watch(request: &Request) -> Result<(), String> {
    top::watch(&request.files[0], request.interval).map_err(|e| e.to_string())
}

fn html(request: &Request) -> Result<(), String> {
    let page = report::page(request.page)?;
    let output = request.output.clone().unwrap_or_else(|| request.files[0].with_extension("html"));
    std::fs::write(&output, report::with_profiles(&page, &request.files)?)
        .map_err(|e| format!("{}: {e}", output.display()))?;
    say(&format!("{}\n", output.display()));
    Ok(())
}

fn view(request: &Request) -> Result<(), String> {
    serve::serve(&report::page(request.page)?, &request.files, request.port, true)
}

fn serve_only(request: &Request) -> Result<(), String> {
    serve::serve(&report::page(request.page)?, &request.files, request.port, false)
}
