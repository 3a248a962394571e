// Binary search in sorted columns.

/** The first index in [from, to) whose value is greater than `value`; `to` when there is none. */
export function firstAbove(column: Float64Array, value: number, from: number, to: number): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (column[middle]! > value) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** The same, for an answer that is likely near `from`: doubling steps before the bisection. */
export function firstAboveNear(column: Float64Array, value: number, from: number, to: number): number {
  let step = 1;
  while (from + step < to && column[from + step]! <= value) {
    from += step;
    step *= 2;
  }
  return firstAbove(column, value, from, Math.min(to, from + step + 1));
}
