"""`pjrt-scaffold check`: a judge of PJRT plugins. Rules are data; each has one check of its own.

    results = run.run(library, rules.RULES, run.Settings())

`rules` says what is asked, `load_rules`, `abi_rules` and the like find out, each in a child process
(`child`) that `run` starts, times and reads.
"""
