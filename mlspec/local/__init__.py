"""The graph of a project on this computer: the pods that operators would make in, processes and folders out.

Nothing is said twice: a program, its arguments and its variables are those of the projected pod
(`mlspec render --projected`), with paths, addresses and counts exchanged for this computer's.
"""
