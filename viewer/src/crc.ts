// CRC-32 of zlib and PNG, eight bytes at a time: ten million events are some eighty megabytes.

const TABLE = new Uint32Array(8 * 256);
for (let i = 0; i < 256; i++) {
  let value = i;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  TABLE[i] = value;
}
for (let i = 0; i < 256; i++) {
  for (let slice = 1; slice < 8; slice++) {
    const before = TABLE[(slice - 1) * 256 + i]!;
    TABLE[slice * 256 + i] = (before >>> 8) ^ TABLE[before & 255]!;
  }
}

/** Continues `crc` (0 to begin with) over bytes `from` to `to`. */
export function crc32(bytes: Uint8Array, from: number, to: number, crc = 0): number {
  const t = TABLE;
  let c = ~crc;
  let i = from;
  for (; i + 8 <= to; i += 8) {
    c ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    c =
      t[1792 + (c & 255)]! ^ t[1536 + ((c >>> 8) & 255)]! ^ t[1280 + ((c >>> 16) & 255)]! ^ t[1024 + (c >>> 24)]! ^
      t[768 + bytes[i + 4]!]! ^ t[512 + bytes[i + 5]!]! ^ t[256 + bytes[i + 6]!]! ^ t[bytes[i + 7]!]!;
  }
  for (; i < to; i++) c = (c >>> 8) ^ t[(c ^ bytes[i]!) & 255]!;
  return ~c >>> 0;
}
