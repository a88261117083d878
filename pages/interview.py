"""The interview room: drill, whiteboard, mock interview, progress. No rubric, no schedule, no maths here."""

from importlib import import_module

from ui import page
from ui.interview import back, drill

back.forget()
words = page.head("interview", settings=(*drill.SETTINGS, "task", "case"))
section = page.section(words)
if section.key == "whiteboard":
    page.engine()

import_module(f"ui.interview.{section.key}").room()
