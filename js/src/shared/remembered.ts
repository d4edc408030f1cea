/** Cache the last result of `make`, which runs again for a new argument. */
export function remembered<T, U>(make: (value: T) => U): (value: T) => U {
  let last: { of: T; made: U } | undefined;
  return (value) => {
    if (last?.of !== value) last = { of: value, made: make(value) };
    return last.made;
  };
}
