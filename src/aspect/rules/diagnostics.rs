//! Errors in a rules file, shown with the line and a caret.

use crate::error::{Finding, Place};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::ops::Range;

/// Most errors that one message shows.
const MAX_SHOWN: usize = 25;

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// The bytes of the file that are wrong.
    pub span: Range<usize>,
    /// What is wrong.
    pub title: String,
    /// What was expected there.
    pub label: String,
    /// What to do.
    pub help: Option<String>,
    /// Another place that has to do with it.
    pub related: Option<(Range<usize>, &'static str)>,
}

impl Diagnostic {
    pub(crate) fn new(
        span: Range<usize>,
        title: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            span,
            title: title.into(),
            label: label.into(),
            help: None,
            related: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// All errors of one file as a text. The first title stands bare, so that the text reads on
/// after whatever the program puts in front of its errors; the others begin with `error:`.
pub(super) fn render(
    source: &str,
    text: &str,
    diagnostics: &mut [Diagnostic],
    colour: bool,
) -> String {
    diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for (i, diagnostic) in diagnostics.iter().take(MAX_SHOWN).enumerate() {
        let level = if i == 0 {
            Level::ERROR.no_name()
        } else {
            Level::ERROR
        };
        let span = on_boundaries(text, &diagnostic.span);
        let mut snippet = Snippet::source(text)
            .path(source)
            .annotation(AnnotationKind::Primary.span(span).label(&diagnostic.label));
        if let Some((related, label)) = &diagnostic.related {
            snippet = snippet.annotation(
                AnnotationKind::Context
                    .span(on_boundaries(text, related))
                    .label(*label),
            );
        }
        let mut group = level.primary_title(&diagnostic.title).element(snippet);
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help));
        }
        if i > 0 {
            out.push_str("\n\n");
        }
        out.push_str(&renderer.render(&[group]));
    }
    if let Some(more) = diagnostics.len().checked_sub(MAX_SHOWN).filter(|&n| n > 0) {
        out.push_str(&format!("\n\nand {more} more errors"));
    }
    out
}

/// The same one by one, for programs.
pub(super) fn findings(source: &str, text: &str, diagnostics: &[Diagnostic]) -> Vec<Finding> {
    let finding = |diagnostic: &Diagnostic| {
        let help = diagnostic.help.iter().map(|help| format!("; {help}"));
        Finding {
            place: place(source, text, diagnostic.span.start),
            message: format!("{}: {}", diagnostic.title, diagnostic.label)
                + &help.collect::<String>(),
        }
    };
    diagnostics.iter().map(finding).collect()
}

/// The line and column of a byte.
pub(super) fn place(source: &str, text: &str, at: usize) -> Place {
    let before = &text[..text.floor_char_boundary(at.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        file: source.to_owned(),
        line: before.matches('\n').count() as u32 + 1,
        column: before[line_start..].chars().count() as u32 + 1,
    }
}

/// The span, moved onto character boundaries of the text.
fn on_boundaries(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    start..end
}
