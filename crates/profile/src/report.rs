//! The report: the viewer's page with profiles in it, one file that opens anywhere.

use crate::chunk;
use crate::findings;
use crate::read::Profile;
use crate::table::Tables;
use std::path::{Path, PathBuf};

const MARK: &str = "<!--NUMLOOM-PROFILE-->";

/// The viewer's page.
pub fn page(path: Option<&Path>) -> Result<String, String> {
    let path = path.ok_or(
        "the viewer's page (viewer.html) is not part of this installation; stats, advise and trace work without it",
    )?;
    let page = std::fs::read_to_string(path)
        .map_err(|e| format!("{}: {e}; stats, advise and trace work without the page", path.display()))?;
    if !page.contains(MARK) {
        return Err(format!("{}: it has no {MARK}, so no profile can be put into it", path.display()));
    }
    Ok(page)
}

/// The page with the profiles, and what was found in them, embedded.
pub fn with_profiles(page: &str, files: &[PathBuf]) -> Result<String, String> {
    let mut scripts = String::new();
    for file in files {
        let bytes = with_findings(file)?;
        let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let name = name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        scripts.push_str(&format!("<script type=\"application/octet-stream;base64\" data-name=\"{name}\">"));
        base64(&bytes, &mut scripts);
        scripts.push_str("</script>\n");
    }
    Ok(page.replacen(MARK, &scripts, 1))
}

/// The page for a server, which hands out the profiles itself.
pub fn served(page: &str) -> String {
    page.replacen(MARK, "<script data-served></script>", 1)
}

/// The bytes of a profile, with its findings as one more chunk at the end.
pub fn with_findings(file: &Path) -> Result<Vec<u8>, String> {
    let profile = Profile::read(file).map_err(|e| e.to_string())?;
    let mut bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    bytes.truncate(whole(&bytes));
    let mut tables = Tables::default();
    let strings = profile.tables.strings.text.len() as u32;
    for finding in findings::findings(&profile) {
        tables.strings.push(finding.kind.to_string());
        let kind = strings + tables.strings.text.len() as u32;
        let (micros, bytes) = ((finding.seconds * 1e6) as u64, finding.bytes);
        tables.findings.push(
            kind,
            finding.line,
            finding.looped,
            micros,
            bytes,
            finding.title,
            finding.text,
            finding.advice.into(),
        );
    }
    bytes.extend(tables.chunks());
    Ok(bytes)
}

/// How many bytes are whole chunks.
fn whole(bytes: &[u8]) -> usize {
    let mut at = chunk::FILE_HEADER;
    while let Some(header) = bytes.get(at..at + chunk::HEADER).and_then(|h| <&[u8; chunk::HEADER]>::try_from(h).ok()) {
        let Ok(header) = chunk::Header::read(header) else { break };
        if at + chunk::HEADER + header.stored > bytes.len() {
            break;
        }
        at += chunk::HEADER + header.stored;
    }
    at.min(bytes.len())
}

fn base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(bytes.len() / 3 * 4 + 4);
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |w, &b| w << 8 | b as u32) << (8 * (3 - three.len()));
        for k in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * k) & 63) as usize];
            out.push(if k <= three.len() { digit as char } else { '=' });
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_the_usual_one() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            let mut out = String::new();
            super::base64(bytes.as_bytes(), &mut out);
            assert_eq!(out, text);
        }
    }
}
