"""A hub for one user, whose server runs beside it. `HOSTS_NODE` names the folder of the proxy."""

import os
import sys
from typing import Any

c: Any = get_config()  # type: ignore[name-defined]  # noqa: F821
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.JupyterHub.bind_url = os.environ["HOSTS_HUB"]
c.JupyterHub.hub_port = int(os.environ["HOSTS_HUB_PORT"])
c.ConfigurableHTTPProxy.api_url = os.environ["HOSTS_PROXY_API"]
c.ConfigurableHTTPProxy.command = [os.environ["HOSTS_PROXY"]]
c.ConfigurableHTTPProxy.should_start = True
c.SimpleLocalProcessSpawner.home_dir_template = os.environ["HOME"]
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"]
c.Spawner.environment = dict(os.environ)
c.Spawner.default_url = "/lab/tree/host.ipynb"
c.Spawner.start_timeout = 120
