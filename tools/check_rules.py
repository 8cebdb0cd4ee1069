"""Write the rules of `pjrt-scaffold check` into docs/check.md, from the rules' own data."""

from __future__ import annotations

from pathlib import Path

from pjrt_scaffold.check.rules import RULES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "check.md"
BEGIN = "<!-- from pjrt_scaffold/check/rules.py, by `make docs` -->"
END = "<!-- end -->"


def rules() -> str:
    """The families with their rules, a section each."""
    lines: list[str] = []
    family = ""
    for rule in RULES:
        if rule.family != family:
            family = rule.family
            lines += [f"## Rules: {family}", ""]
        lines += [f"### {rule.id}: {rule.title}", "", rule.why, ""]
        lines += [f"- **Breaks:** {rule.breaks}", f"- **Mend:** {rule.mend}"]
        if rule.needs:
            lines += [f"- **Needs:** {', '.join(rule.needs)}"]
        lines += [""]
    return "\n".join(lines)


def page(old: str) -> str:
    """The page with its generated part written anew."""
    before, rest = old.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{rules()}\n{END}{rest.split(END, 1)[1]}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
