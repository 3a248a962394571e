//! A small server for the viewer: its page and the profiles, on this machine only.

use crate::report;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Serves until the process ends. `port` 0: any that is free.
pub fn serve(page: &str, files: &[PathBuf], port: u16, open: bool) -> Result<(), String> {
    for file in files {
        std::fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| format!("port {port}: {e}"))?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let url = format!("http://{address}/");
    println!("{url} (Ctrl-C ends it)");
    let _ = std::io::stdout().flush();
    if open {
        open_browser(&url);
    }
    let page = report::served(page);
    for stream in listener.incoming().flatten() {
        // A reader that goes away, or stalls, is its own business.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let _ = stream.set_write_timeout(Some(Duration::from_secs(30)));
        let _ = answer(stream, &page, files);
    }
    Ok(())
}

fn open_browser(url: &str) {
    for opener in ["xdg-open", "open", "wslview"] {
        let mut command = Command::new(opener);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.spawn().is_ok() {
            return;
        }
    }
}

fn answer(mut stream: TcpStream, page: &str, files: &[PathBuf]) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    std::io::Read::take(&mut reader, 8192).read_line(&mut request)?;
    let path = request.split_whitespace().nth(1).unwrap_or("/").split(['?', '#']).next().unwrap_or("/");
    let (kind, body) = match path {
        "/" | "/index.html" => ("text/html; charset=utf-8", page.as_bytes().to_vec()),
        "/files.json" => ("application/json", listing(files).into_bytes()),
        other => match other.strip_prefix("/profile/").and_then(|n| n.parse::<usize>().ok()).and_then(|n| files.get(n))
        {
            Some(file) => match report::with_findings(file) {
                Ok(bytes) => ("application/octet-stream", bytes),
                Err(sentence) => {
                    return respond(&mut stream, "500 Failed", "text/plain; charset=utf-8", sentence.as_bytes());
                }
            },
            None => {
                return respond(
                    &mut stream,
                    "404 Not Found",
                    "text/plain; charset=utf-8",
                    b"there is no such thing here\n",
                );
            }
        },
    };
    respond(&mut stream, "200 OK", kind, &body)
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)?;
    stream.flush()
}

fn listing(files: &[PathBuf]) -> String {
    let one = |(k, file): (usize, &PathBuf)| {
        let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        format!("{{\"name\":{},\"url\":\"profile/{k}\"}}", crate::export::quoted(&name))
    };
    format!("[{}]", files.iter().enumerate().map(one).collect::<Vec<_>>().join(","))
}
