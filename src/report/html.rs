//! A comparison as one HTML file: no script, nothing from outside, charts as SVG, light or dark as the reader's system.

use super::charts::{self, Look};
use super::rows::{self, HEADLINE_COLUMNS};
use super::svg::escape;
use crate::analysis::Comparison;

const STYLE: &str = "
:root{--bg:#fff;--text:#1b1f24;--muted:#59636e;--grid:#d9dee3;--card:#f6f8fa;--good:#116329;--bad:#a40e26}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--text:#e6e9ed;--muted:#9aa4af;--grid:#333b44;--card:#1d2228;--good:#5ed58a;--bad:#ff8a8f}}
body{background:var(--bg);color:var(--text);font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;margin:0 auto;max-width:980px;padding:28px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:34px 0 8px}.sub{color:var(--muted);margin:0 0 20px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:6px 10px;border-bottom:1px solid var(--grid);vertical-align:top}
th:first-child,td:first-child,.how{text-align:left}thead th{color:var(--muted);font-weight:600}
.how{color:var(--muted);font-size:13px}.why{color:var(--muted);font-size:12px;display:block;max-width:18em;margin-left:auto}
.faster{color:var(--good);font-weight:600}.slower{color:var(--bad);font-weight:600}
ul{padding-left:20px}figure{margin:0;background:var(--card);border-radius:8px;padding:12px;overflow-x:auto}figure svg{display:block;width:100%;height:auto}
footer{color:var(--muted);font-size:13px;margin-top:40px}";

fn cells<'a>(tag: &str, cells: impl IntoIterator<Item = &'a str>) -> String {
    cells.into_iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
}

/// The page.
pub fn page(c: &Comparison) -> String {
    let mut body = format!("<h1>{}</h1>", escape(&c.title));
    let device = c.runs.first().map(|run| run.device.as_str()).unwrap_or_default();
    body.push_str(&format!("<p class=\"sub\">{} runs on {}</p>", c.runs.len(), escape(device)));
    body.push_str(&headline_table(c));
    let mut sections = charts::all(c, Look::Page).into_iter();
    let mut figure = |body: &mut String| {
        if let Some(chart) = sections.next() {
            body.push_str(&format!("<h2>{}</h2><figure>{}</figure>", chart.title, chart.svg));
        }
    };
    figure(&mut body);
    body.push_str(&notes(c));
    body.push_str(&differences(c));
    figure(&mut body);
    figure(&mut body);
    figure(&mut body);
    body.push_str(&figures(c));
    body.push_str(&operations(c));
    body.push_str(&format!("<h2>How the ratios were made</h2><p>{}</p>", escape(&c.method)));
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>{}</title><style>{STYLE}</style></head><body>{body}\
         <footer>Made by Burnscope {version}. Every figure above says how it was measured.</footer></body></html>\n",
        escape(&c.title)
    )
}

fn headline_table(c: &Comparison) -> String {
    let mut text =
        format!("<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>", cells("th", HEADLINE_COLUMNS));
    for headline in rows::headlines(c) {
        let [name, median, previous, baseline, interval, verdict] = headline.cells();
        let class = if verdict == "faster" || verdict == "slower" { verdict } else { "" };
        text.push_str(&format!(
            "<tr>{}<td class=\"{class}\" title=\"{}\">{}</td></tr>",
            cells("td", [name, median, previous, baseline, interval]),
            escape(&headline.sentence),
            escape(verdict)
        ));
    }
    text.push_str("</tbody></table></div>");
    text
}

fn notes(c: &Comparison) -> String {
    let mut items: Vec<String> = rows::headlines(c)
        .into_iter()
        .filter(|headline| !headline.sentence.is_empty())
        .map(|headline| format!("<b>{}</b>: {}", escape(&headline.name), escape(&headline.sentence)))
        .collect();
    items.extend(c.refused.iter().map(|(name, why)| format!("<b>{}</b>: left out. {}", escape(name), escape(why))));
    if c.repeated_blocks > 0 {
        items.push(format!("{} rounds were repeated because other programs used the machine.", c.repeated_blocks));
    }
    items.extend(c.warnings.iter().map(|warning| format!("Note: {}", escape(warning))));
    if items.is_empty() {
        return String::new();
    }
    format!("<ul>{}</ul>", items.iter().map(|item| format!("<li>{item}</li>")).collect::<String>())
}

fn differences(c: &Comparison) -> String {
    if c.config_differences.is_empty() {
        return "<h2>What differs</h2><p>The runs have the same settings.</p>".to_owned();
    }
    let head = cells("th", std::iter::once("Setting").chain(c.runs.iter().map(|run| run.title.as_str())));
    let rows: String = c
        .config_differences
        .iter()
        .map(|d| {
            format!(
                "<tr>{}</tr>",
                cells("td", std::iter::once(d.key.as_str()).chain(d.values.iter().map(String::as_str)))
            )
        })
        .collect();
    format!(
        "<h2>What differs</h2><div class=\"scroll\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn figures(c: &Comparison) -> String {
    let head = cells("th", std::iter::once("Figure").chain(c.runs.iter().map(|run| run.title.as_str())));
    let mut text = format!(
        "<h2>Figures</h2><div class=\"scroll\"><table><thead><tr>{head}<th class=\"how\">How measured</th></tr></thead><tbody>"
    );
    for row in rows::figures(c) {
        text.push_str(&format!("<tr><td>{}</td>", escape(&row.name)));
        for (value, reason) in row.values.iter().zip(&row.reasons) {
            let why =
                reason.as_ref().map(|why| format!("<span class=\"why\">{}</span>", escape(why))).unwrap_or_default();
            text.push_str(&format!("<td>{}{why}</td>", escape(value)));
        }
        text.push_str(&format!("<td class=\"how\">{}</td></tr>", escape(&row.how)));
    }
    text.push_str("</tbody></table></div>");
    text
}

fn operations(c: &Comparison) -> String {
    if c.op_deltas.is_empty() {
        return String::new();
    }
    let head = cells("th", std::iter::once("Operation").chain(c.runs.iter().map(|run| run.title.as_str())));
    let rows: String = c
        .op_deltas
        .iter()
        .map(|delta| {
            let values: Vec<String> = delta
                .per_step_ns
                .iter()
                .map(|ns| ns.map_or_else(|| "–".to_owned(), crate::model::units::duration_ns))
                .collect();
            format!(
                "<tr>{}</tr>",
                cells("td", std::iter::once(delta.name.as_str()).chain(values.iter().map(String::as_str)))
            )
        })
        .collect();
    format!(
        "<h2>Operations, largest change first</h2><p class=\"sub\">{}</p><div class=\"scroll\"><table><thead><tr>{head}</tr>\
         </thead><tbody>{rows}</tbody></table></div>",
        escape(&c.op_source)
    )
}
