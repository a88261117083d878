"""The interview room on a page: drill, whiteboard, mock interview, progress. No rubric, no schedule, no maths here."""
