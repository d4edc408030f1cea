/** Draw once in the next frame however many changes ask for it before. */
export function perFrame(signal: AbortSignal, draw: () => void): () => void {
  let waiting = 0;
  signal.addEventListener("abort", () => cancelAnimationFrame(waiting));
  return () => {
    if (waiting || signal.aborted) return;
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      draw();
    });
  };
}
