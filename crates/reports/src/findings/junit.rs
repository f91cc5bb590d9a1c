//! What was found as JUnit XML: a test case for each report, which has failed; one that has passed if nothing was found; and what was
//! not checked to its end as errors.

use super::{Findings, place, text};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite, XmlString};

pub(super) fn text_of(findings: &Findings<'_>) -> Result<String, String> {
    let mut suite = TestSuite::new(findings.name);
    for report in findings.reports {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status
            .set_type(text(report, "kind"))
            .set_message(text(report, "title"))
            .set_description(text(report, "text"));
        let accesses = report["accesses"].as_array().into_iter().flatten();
        let places: Vec<String> =
            accesses.filter_map(place).map(|(file, line)| format!("{file}:{line}")).collect();
        let name = format!("{} {}", text(report, "kind"), places.join(" "));
        suite.add_test_case(case(findings, name.trim_end(), status));
    }
    for why in findings.cut_short {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("cut-short").set_message(why.as_str());
        suite.add_test_case(case(findings, "checked to the end", status));
    }
    if suite.test_cases.is_empty() {
        suite.add_test_case(case(findings, "nothing was found", TestCaseStatus::success()));
    }
    let mut all = Report::new("warploom");
    all.add_test_suite(suite);
    all.to_string().map_err(|error| format!("cannot write JUnit XML: {error}"))
}

fn case(findings: &Findings<'_>, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(XmlString::new(findings.name));
    case
}
