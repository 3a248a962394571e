//! Writes a profile of as many events as asked for, to see how fast profiles are read:
//! `cargo run --release -p numloom-profile --example synthetic 10000000 big.prof`.

use numloom_profile::Tables;

fn main() {
    let mut words = std::env::args().skip(1);
    let events: u64 = words.next().and_then(|w| w.parse().ok()).unwrap_or(10_000_000);
    let path = words.next().unwrap_or_else(|| "synthetic.prof".into());
    let mut t = Tables::default();
    for text in ["prog.py", "main", "float64[4096]", "CPU 0", "IO 0", "SYSTEM_MEM"] {
        t.strings.push(text.into());
    }
    for k in 0..200 {
        t.strings.push(format!("operation_{k}"));
    }
    t.meta.push("program".into(), "prog.py".into());
    for line in 1..=100 {
        t.lines.push(1, line, 2);
    }
    for id in 0..8 {
        t.processors.push(id, 0, id, 4);
    }
    t.memories.push(0, 0, 0, 1 << 34, 6);
    let mut file = t.file();
    // A task is four events: itself, a span, an operation and an edge.
    let (mut seed, mut now, mut id) = (88_172_645_463_325_252u64, 0u64, 0u32);
    while (id as u64) * 4 < events {
        let mut part = Tables::default();
        for _ in 0..100_000u64.min(events / 4 + 1 - id as u64) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            id += 1;
            let (ran, line) = (2_000 + seed % 30_000, (seed >> 20) % 100 + 1);
            let name = 7 + (seed >> 30) as u32 % 200;
            let lane = (id % 8) as u16;
            now += 4_500;
            part.tasks.push(id, name, now, seed >> 50, seed >> 52, ran, line as u32, 0, 32_768, 32_768, 1, 1, 700, 0);
            part.spans.push(lane, now + 20_000, ran, 0, id, 0, 1);
            part.operations.push(id, name, line as u32, 3, now - 1_000, 1, 0);
            part.edges.push(id, id.saturating_sub(8).max(1));
        }
        file.extend(part.chunks());
    }
    let mut end = Tables::default();
    end.end.push(now + 100_000);
    file.extend(end.chunks());
    println!("{} events, {:.2} bytes each", id as u64 * 4, file.len() as f64 / (id as f64 * 4.0));
    if let Err(e) = std::fs::write(&path, file) {
        eprintln!("{path}: {e}");
        std::process::exit(1);
    }
}
