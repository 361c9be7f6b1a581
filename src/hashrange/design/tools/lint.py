"""Runs the lint rules over a table."""

from dataclasses import dataclass

from hashrange.design.errors import DeclarationError, suggest
from hashrange.design.table import Table
from hashrange.design.tools.rules import RULES, Context, Finding
from hashrange.design.tools.rules.rule import counted


@dataclass(frozen=True)
class Report:
    """The findings for a table.

    `ignored` has the findings that the model accepts, with the reasons. `unchecked` has (rule,
    number) for each number that a rule needs and the model does not declare.
    """

    table: str
    findings: tuple[Finding, ...]
    ignored: tuple[tuple[Finding, str], ...]
    unchecked: tuple[tuple[str, str], ...]

    @property
    def failed(self) -> bool:
        """Whether any finding is an error, for the exit status of a CI run."""
        return any(finding.severity == "error" for finding in self.findings)

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        lines += [f"{finding} (ignored: {reason})" for finding, reason in self.ignored]
        last = (
            f"{self.table}: {counted(len(self.findings), 'finding')}, {len(self.ignored)} ignored"
        )
        if self.unchecked:
            rules = {rule for rule, _ in self.unchecked}
            last += (
                f", {counted(len(rules), 'rule')} not checked because "
                f"{counted(len(self.unchecked), 'number')} are not declared"
            )
        lines.append(last)
        return "\n".join(lines)


def lint(table: Table) -> Report:
    """Check a table against all rules.

    Raises DeclarationError if an `ignore` names an unknown rule, or a rule that found nothing.
    """
    context = Context(table)
    findings = [
        Finding(plan.error.rule or "A01", str(plan.pattern), "error", str(plan.error))
        for plan in context.unplanned
    ]
    for one in RULES.values():
        if one.find is not None:
            findings += one.find(context)
    reasons = {(i.rule, i.where): i.reason for i in table.ignore}
    for rule_id, where in reasons:
        if rule_id not in RULES:
            raise DeclarationError(f"ignore: {rule_id} is not a rule{suggest(rule_id, RULES)}")
        if not any((f.rule, f.where) == (rule_id, where) for f in findings):
            places = [f.where for f in findings if f.rule == rule_id]
            raise DeclarationError(
                f"ignore: {rule_id} found nothing at {where!r}{suggest(where, places)}"
            )
    ordered = sorted(set(findings))
    kept = tuple(f for f in ordered if (f.rule, f.where) not in reasons)
    ignored = tuple((f, reasons[f.rule, f.where]) for f in ordered if f not in kept)
    return Report(table.name, kept, ignored, tuple(sorted(context.unchecked)))


def rule(id: str) -> str:
    """The title and explanation of a rule. Raises KeyError, with a suggestion, if unknown."""
    known = RULES.get(f"{id[:1].upper()}{id[1:]:0>2}")
    if known is None:
        raise KeyError(f"{id} is not a rule{suggest(id.upper(), RULES)}")
    return f"{known.id} ({known.severity}): {known.title}\n\n{known.explanation}"
