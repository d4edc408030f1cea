// A live figure sends the height that it needs.
addEventListener("message", ({ data, source }) => {
  if (!Number.isFinite(data?.attnwHeight)) return;
  for (const frame of document.querySelectorAll(".live-figure > iframe"))
    if (frame.contentWindow === source) frame.height = data.attnwHeight;
});
