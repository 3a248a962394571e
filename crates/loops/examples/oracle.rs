//! Runs loops for `tests/against_numpy.py`: a line `block OP LOOP N STEPS...`, `fold OP LOOP N` or
//! `cast FROM TO N`, then the inputs' bytes; answers with the outputs' bytes and one byte of flags.

use numloom_ir::{DType, ScalarOp};
use numloom_loops::{BLOCK, In, block_fn, cast_fn, fold_fn, fp_clear, fp_status};
use std::io::{BufRead, Read, Write};

fn read_run(input: &mut impl Read, bytes: usize) -> Vec<u8> {
    let mut run = vec![0; bytes];
    input.read_exact(&mut run).expect("the bytes of a run");
    run
}

fn main() {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line).expect("a line") > 0 {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words[i].parse::<usize>().expect("a number");
        let n = number(3);
        assert!(n <= BLOCK);
        let (mut runs, mut results) = (Vec::new(), Vec::new());
        let flags = match words[0] {
            "block" => {
                let op = ScalarOp::from_name(words[1]).expect("an operation");
                let (lp, types) = (number(2), &op.loops()[number(2)]);
                let mut ins = Vec::new();
                for (k, dtype) in types.ins().iter().enumerate() {
                    let step = number(4 + k);
                    runs.push(read_run(&mut input, if step == 0 { dtype.size() } else { n * dtype.size() }));
                    ins.push(In { ptr: runs[k].as_ptr(), step });
                }
                for dtype in types.outs() {
                    results.push(vec![0xa5u8; n * dtype.size()]);
                }
                let outs: Vec<*mut u8> = results.iter_mut().map(|r| r.as_mut_ptr()).collect();
                fp_clear();
                // SAFETY: the runs have the sizes that the loop's types and `n` ask for.
                unsafe { block_fn(op, lp)(n, ins.as_ptr(), outs.as_ptr()) | fp_status() }
            }
            "fold" => {
                let op = ScalarOp::from_name(words[1]).expect("an operation");
                let types = &op.loops()[number(2)];
                runs.push(read_run(&mut input, n * types.ins()[0].size()));
                results.push(vec![0u8; types.outs()[0].size()]);
                let fold = fold_fn(op, number(2)).expect("a fold");
                fp_clear();
                // SAFETY: as above.
                unsafe {
                    fold(n, In { ptr: runs[0].as_ptr(), step: types.ins()[0].size() }, results[0].as_mut_ptr())
                        | fp_status()
                }
            }
            _ => {
                let (from, to) =
                    (DType::from_name(words[1]).expect("a type"), DType::from_name(words[2]).expect("a type"));
                runs.push(read_run(&mut input, n * from.size()));
                results.push(vec![0u8; n * to.size()]);
                let (source, out) = (In { ptr: runs[0].as_ptr(), step: from.size() }, results[0].as_mut_ptr());
                fp_clear();
                // SAFETY: as above.
                unsafe { cast_fn(from, to)(n, &source, &out) | fp_status() }
            }
        };
        for result in &results {
            output.write_all(result).expect("stdout");
        }
        output.write_all(&[flags]).expect("stdout");
        output.flush().expect("stdout");
        line.clear();
    }
}
