//! Damaged files: every one is read or refused, in little time and memory, and the error says where.

use numloom_profile::{Error, Profile, Tables, compare, export, findings, print, stats, top};
use std::path::Path;

const LIMIT: usize = 64 << 20;

/// A small profile with something in every table.
fn sample(tasks: u32) -> Tables {
    let mut t = Tables::default();
    for text in ["prog.py", "main", "add·sum", "float64[1000]", "CPU 0", "SYSTEM_MEM", "nonzero", "counter"] {
        t.strings.push(text.into());
    }
    t.meta.push("program".into(), "prog.py".into());
    t.meta.push("cpus".into(), "2".into());
    t.sources.push(1, "import numloom as np\nfor k in range(9):\n    x = x + 1\n".into());
    t.lines.push(1, 3, 2);
    t.processors.push(0, 0, 0, 5);
    t.processors.push(1, 2, 0, 5);
    t.memories.push(0, 0, 0, 1 << 20, 6);
    for k in 0..tasks {
        let at = k as u64 * 5_000;
        t.tasks.push(k + 1, 3, at, 10, 20, 4_000, 1, 0, 8_000, 8_000, 1, 2, 5, 0);
        t.spans.push(0, at + 30, 4_000, 0, k + 1, 0, 1);
        t.spans.push(1, at, 3_000, 22, k + 1, 1, 0);
        t.operations.push(k + 1, 3, 1, 4, at, 1, (k % 16) as u8);
        if k > 0 {
            t.edges.push(k + 1, k);
        }
        t.instances.push(k + 1, 0, 1 << 20, at, 1, 3, 1, 4, k, k / 2);
        t.deaths.push(k + 1, at + 100, 1);
        t.levels.push(0, at, 1 << 20, 1 << 20);
    }
    t.copies.push(0, 64, 10, 10, 1000, 0, 1, 1);
    t.ranges.push(2, 1, 100, 0, 1, 1);
    t.small.push(3, 1, 0, 100, 50, 500);
    t.counters.push(1, 8, 7);
    for kind in 1..=14 {
        t.uses.push(kind, 1, 1_000, 100_000, 7, 5);
    }
    t.findings.push(7, 1, 0, 100, 5, "title".into(), "text".into(), "advice".into());
    t.held.push(1, 0, 0);
    t.end.push(tasks as u64 * 5_000);
    t
}

fn read(bytes: &[u8]) -> Result<Profile, Error> {
    Profile::read_from(Path::new("test.prof"), bytes, LIMIT)
}

/// Everything that looks at a profile.
fn use_all(p: &Profile) {
    let s = stats::stats(p);
    print::stats(p, &s, true);
    findings::text(p, &findings::findings(p));
    compare::text(p, p, true);
    top::screen(p, Some(&p.tables.live));
    export::chrome(std::slice::from_ref(p));
    export::json(std::slice::from_ref(p));
}

#[test]
fn a_profile_comes_back() {
    let tables = sample(300);
    let p = read(&tables.file()).unwrap();
    assert_eq!(p.tables, tables);
    assert!(p.notes.is_empty(), "{:?}", p.notes);
    use_all(&p);
}

#[test]
fn a_cut_file_is_read_up_to_its_last_whole_chunk() {
    let file = sample(3).file();
    let mut rows = 0;
    for end in 16..file.len() {
        let p = read(&file[..end]).unwrap();
        assert!(p.tables.rows() >= rows && !p.notes.is_empty());
        rows = p.tables.rows();
        use_all(&p);
    }
    for end in 0..16 {
        assert!(matches!(read(&file[..end]), Err(Error::NoProfile { .. })));
    }
}

#[test]
fn a_wrong_byte_is_found_and_told_where() {
    let file = sample(3).file();
    for at in 16..file.len() {
        let mut bad = file.clone();
        bad[at] ^= 0x55;
        match read(&bad) {
            Err(Error::Damaged { offset, .. }) => assert!(offset <= at as u64),
            // A length that reaches beyond the end looks like a file that was cut.
            Ok(p) => assert!(p.notes.iter().any(|n| n.contains("never written")), "byte {at}"),
            Err(e) => panic!("byte {at}: {e}"),
        }
    }
}

#[test]
fn newer_tables_and_columns_are_skipped_with_a_note() {
    let mut file = sample(3).file();
    let mut newer = chunk(999, 1, &[1, 0, 1, 0, 0, 0, 7]);
    newer.extend(chunk(20, 1, &[1, 4, 1, 0, 0, 0, 9, 77, 0, 1, 0, 0, 0, 5]));
    file.extend(newer);
    let p = read(&file).unwrap();
    assert_eq!(p.tables.end.time.last(), Some(&9));
    assert!(p.notes.iter().any(|n| n.contains("kind 999")) && p.notes.iter().any(|n| n.contains("column")));
    file[8] = 2;
    assert!(matches!(read(&file), Err(Error::Version { major: 2, .. })));
}

/// A chunk with the right checksum around any payload.
fn chunk(kind: u16, rows: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(b"CHNK");
    out.extend(kind.to_le_bytes());
    out.extend(0u16.to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend(rows.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&out);
    crc.update(payload);
    out.extend(crc.finalize().to_le_bytes());
    out.extend(payload);
    out
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// A payload that looks like a table's: columns with wild contents.
fn wild(random: &mut Random, rows: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for id in 1..=(1 + random.below(14)) as u8 {
        // Most columns are well formed, whatever they say; some are not.
        let broken = random.below(40) == 0;
        let encoding = if broken { random.below(7) as u8 } else { [0, 1, 2, 4][random.below(4)] };
        let length = if encoding == 4 { 1 } else { rows } + if broken { random.below(3) } else { 0 };
        let mask = if broken { 0xff } else { 0x7f };
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8 & mask).collect();
        if encoding == 4 && random.below(2) == 0 {
            // As large as numbers get.
            bytes = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
            bytes[random.below(9)] &= 0x7f;
            let end = bytes.iter().position(|b| *b < 0x80).unwrap_or(9);
            bytes.truncate(end + 1);
        }
        out.extend([id, encoding]);
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    }
    out
}

#[test]
fn wild_tables_with_right_checksums_do_no_harm() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut read_whole = 0;
    for _ in 0..3_000 {
        let mut file = sample(5).file();
        for _ in 0..1 + random.below(4) {
            let rows = random.below(20);
            let (kind, payload) = (1 + random.below(22) as u16, wild(&mut random, rows));
            file.extend(chunk(kind, rows as u32, &payload));
        }
        if let Ok(p) = read(&file) {
            read_whole += 1;
            use_all(&p);
        }
    }
    assert!(read_whole > 100, "{read_whole}");
}

#[test]
fn a_bomb_does_not_fill_the_memory() {
    // Few bytes that inflate to many: a million rows a chunk, again and again.
    let mut t = Tables::default();
    for _ in 0..500_000 {
        t.spans.push(0, 0, 0, 0, 0, 0, 0);
    }
    t.spans.kind[7] = 1;
    let mut file = t.file();
    let one = file[16..].to_vec();
    for _ in 0..200 {
        file.extend(&one);
    }
    assert!(matches!(read(&file), Err(Error::TooLarge { .. })));
    // A header that promises more than there is needs no room for it.
    let mut short = Tables::default().file();
    short.extend(chunk(8, 1, &[0; 8]));
    let at = short.len() - 32 + 8;
    short[at..at + 4].copy_from_slice(&(1u32 << 26).to_le_bytes());
    short[at + 4..at + 8].copy_from_slice(&(1u32 << 26).to_le_bytes());
    assert!(read(&short).is_ok_and(|p| p.notes.iter().any(|n| n.contains("never written"))));
}
