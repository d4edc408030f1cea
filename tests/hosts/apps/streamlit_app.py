"""A saved page of an explorer in an iframe of Streamlit."""

from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st
import streamlit.components.v1 as components

from attnwidget import explore


@st.cache_data
def page_of_explorer() -> str:
    explorer = explore()
    explorer.wait()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        explorer.save(path)
        return path.read_text("utf-8")


st.set_page_config(layout="wide")
components.html(page_of_explorer(), height=1600, scrolling=True)
