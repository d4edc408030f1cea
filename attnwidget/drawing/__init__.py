"""Figures as pictures and files, drawn by the page's drawing code in an engine without a page.

Only TypeScript draws widgets. The page runs the drawing code on a canvas. `figure()`, `save()` and
saved notebooks run the same code in V8 (`mini-racer`), with the same traits as the page. The result
is SVG, the caption and the table. Layout, line selection, number formatting and captions are
therefore implemented once. A test compares page and picture pixel by pixel, at two widths, in the
light and the dark theme.

V8 starts in a fraction of a second and needs no installation, unlike a headless browser. But V8 can
crash its process: if the address space is limited, if memory runs out, or if a second thread closes
the engine on a processor with memory protection keys. V8 and `vl-convert`, whose charts need a
second V8, therefore run in another process, the drawing engine:

- `drawing/engine_process.py` is the parent's side. The first figure starts the engine, all threads
  share it, and a request is a JSON header with blocks of bytes over two pipes. If the engine is
  killed, hangs or crashes, Python raises an error that names the figure. The next figure starts a
  new engine.
- `drawing/engine_server.py` is the engine's side. A timer in C ends the process after a minute,
  even if native code never returns. The engine ends when its parent closes the pipe or dies.
- A forked process starts its own engine. Two processes cannot share a pipe safely, because one of
  them may die in the middle of a request.
- The parent needs no threads, no signal handler and no fork, so the same code works in scripts,
  kernels, workers and daemonic processes.

`vl-convert` converts SVG to PNG and PDF, Pillow reads PNG files, `drawing/png_file.py` writes PNG
files, and pypdf writes the metadata of PDF files.

Lessons from building the engine:

- Curved lines are polylines. Every renderer draws corners at the same positions, but renderers
  approximate curves differently.
- A converter needs seconds for thousands of strokes. For a PNG, the engine therefore rasterizes the
  lines itself and starts with the last line: covered pixels need no more work, and most lines are
  covered. SVG and PDF files keep vectors.
- An engine without a page cannot measure text. Pictures use a table of character widths (Liberation
  Sans and Arial), which agrees with the page's measurements to 2 pixels.
- V8 cannot be made safe inside the user's process. Versions 0.13 and 0.14 of mini-racer crashed
  when scripts exited on processors with protection keys. After a drawing timed out, the kernel died
  when the exception was garbage-collected.

Study results are tables of data without a live figure, so Altair draws them as charts.
"""
