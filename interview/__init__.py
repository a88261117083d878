"""The interview room: cards with rubrics, drills, a whiteboard, a mock interview and a learner's progress.

Everything here is plain data and pure functions, except `store`, which owns one SQLite file. Nothing here draws a
page, trains a policy or judges an answer: a person ticks the rubric, this package only counts and schedules.
"""
