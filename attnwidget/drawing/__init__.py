"""Figures as pictures and files: drawn by the page's own code, in an engine without a page.

Only TypeScript draws widgets. The page runs the drawing code on a canvas. `figure()`, `save()` and
saved notebooks run the same code in V8 (`mini-racer`), with the traits of the page. The result is
SVG, the caption and the table. Layout, the choice of lines, printed numbers and captions therefore
exist once. A test compares page and picture pixel by pixel, at two widths, light and dark.

V8 starts in a fraction of a second and needs no installation, unlike a headless browser. But V8 can
end its process: under a limit of address space, on processors with memory protection keys if a
second thread closes the engine, or if memory runs out. V8 and `vl-convert`, whose charts need a
second V8, therefore run in another process, the drawing engine:

- `drawing/engine_process.py` is the parent's side. The first figure starts the engine, all threads
  share it, and a request is a JSON header with blocks of bytes over two pipes. A killed, hanging or
  crashed engine is a Python error that names the figure. The next figure starts a new engine.
- `drawing/engine_server.py` is the engine's side. A timer of C ends the process after a minute,
  even if native code never returns. The engine ends when its parent closes the pipe or dies.
- A forked process starts an engine of its own. Two processes cannot share a pipe safely, because
  one of them may die in the middle of a request.
- The parent needs no threads, no handler of signals and no fork, so that the same code serves
  scripts, kernels, workers and daemonic processes.

`vl-convert` converts SVG to PNG and PDF, Pillow reads PNG files, `drawing/png_file.py` writes PNG
files, and pypdf writes the metadata of PDF files.

Lessons from building it:

- Curved lines are polylines. Every engine draws corners at the same places, but engines approximate
  curves differently.
- A converter needs seconds for thousands of strokes. For a PNG, the engine therefore rasterises the
  lines, the last line first: covered pixels need no more work, and most lines are covered. SVG and
  PDF keep vectors.
- An engine without a page cannot measure text. Pictures use a table of character widths (Liberation
  Sans and Arial), which agrees with the page's measurements to 2 pixels.
- No care makes V8 safe inside the user's process. Versions 0.13 and 0.14 of mini-racer faulted at
  the exit of scripts on processors with protection keys, and after a drawing that timed out the
  kernel died when the exception was dropped.

Results of studies draw Altair charts: they are tables of data, and have no live figure to agree
with.
"""
