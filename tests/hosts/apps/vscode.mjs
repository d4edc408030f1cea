// The page of an output in VS Code: Microsoft's widget manager, and a kernel of Jupyter.
import { KernelManager, ServerConnection } from "@jupyterlab/services";
import { activate } from "@vscode/jupyter-ipywidgets8";

const VIEW = "application/vnd.jupyter.widget-view+json";
const outputs = document.getElementById("outputs");

// VS Code takes the scripts of other widgets from the folder nbextensions of the environment.
const scripts = {
  widgetsRegisteredInRequireJs: new Set(),
  successHandler() {},
  errorHandler: (...about) => console.error("no script for", ...about.map(String)),
  loadWidgetScript: async (name) =>
    window.requirejs.config({ paths: { [name]: `/static/${name}/index` } }),
};

async function show(manager, { content }) {
  const node = document.createElement("div");
  outputs.append(node);
  const view = content.data[VIEW];
  if (view) {
    const model = await manager.get_model(view.model_id);
    const shown = await manager.create_view(model, { el: node });
    await manager.display_view(content.data, shown, { node });
  } else if (content.data["text/html"]) node.innerHTML = content.data["text/html"];
}

window.run = async (code) => {
  activate();
  window.vscIPyWidgets8.load();
  const serverSettings = ServerConnection.makeSettings({ baseUrl: `${location.origin}/` });
  const kernel = await new KernelManager({ serverSettings }).startNew({ name: "python3" });
  const { WidgetManager } = window.vscIPyWidgets;
  const manager = new WidgetManager(kernel, outputs, scripts, () => {}, undefined);
  const future = kernel.requestExecute({ code });
  future.onIOPub = (message) => {
    const kind = message.header.msg_type;
    if (kind === "error") console.error(message.content.evalue);
    if (kind === "display_data" || kind === "execute_result") show(manager, message);
  };
  await future.done;
};
