//! The hash of `SeedSequence`: entropy of any length into a pool, and the pool into words of state.

const XSHIFT: u32 = 16;

struct Hash {
    constant: u32,
    factor: u32,
}

impl Hash {
    fn mix(&mut self, value: u32) -> u32 {
        let value = value ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.factor);
        let value = value.wrapping_mul(self.constant);
        value ^ (value >> XSHIFT)
    }
}

fn join(x: u32, y: u32) -> u32 {
    let joined = 0xCA01_F9DDu32.wrapping_mul(x).wrapping_sub(0x4973_F715u32.wrapping_mul(y));
    joined ^ (joined >> XSHIFT)
}

/// The pool of `size` words that the entropy makes; every word of entropy reaches every word of the pool.
pub fn pool(entropy: &[u32], size: usize) -> Vec<u32> {
    let mut hash = Hash { constant: 0x43B0_D7E5, factor: 0x931E_8875 };
    let mut pool: Vec<u32> = (0..size).map(|i| hash.mix(entropy.get(i).copied().unwrap_or(0))).collect();
    for from in 0..size {
        for to in 0..size {
            if from != to {
                pool[to] = join(pool[to], hash.mix(pool[from]));
            }
        }
    }
    for &word in entropy.iter().skip(size) {
        for to in pool.iter_mut() {
            *to = join(*to, hash.mix(word));
        }
    }
    pool
}

/// `n` words of state from a pool, which is read round and round.
pub fn words(pool: &[u32], n: usize) -> Vec<u32> {
    let mut hash = Hash { constant: 0x8B51_F9DD, factor: 0x58F3_8DED };
    pool.iter().cycle().take(n).map(|&w| hash.mix(w)).collect()
}
