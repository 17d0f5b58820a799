//! `state show-high`, `show-low`, `show-order`, `show-top` and `graph`.

use serde_json::{Map as JsonMap, Value as Json, json};

use crate::cli::args::format::HostOutput;
use crate::cli::args::state::{RunOptions, ShowArgs};
use crate::cli::output::Context;
use crate::cli::request::states::request_of_files;
use crate::cli::screen::states::StatesScreen;
use crate::converge::Compiled;
use crate::fleet::states::CompiledMachine;
use crate::fleet::states::compile_all;
use crate::ops::Failure;
use crate::ui::{Align, Table, nested};
use crate::value::Value;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum View {
    High,
    Low,
    Order,
    Top,
    Graph,
}

impl View {
    fn of(self, compiled: &Compiled) -> Value {
        match self {
            Self::High => compiled.show_high().clone(),
            Self::Low => compiled.show_low(),
            Self::Order => compiled.show_order(),
            Self::Top => compiled.show_top().clone(),
            Self::Graph => compiled.graph(),
        }
    }
}

/// Shows what states are compiled to; gives the exit code.
pub(in crate::cli) fn show(args: &ShowArgs, view: View, cx: &Context) -> Result<u8, Failure> {
    let run = RunOptions::default();
    let asked = request_of_files(&args.what, &run, &args.hosts, cx)?;
    let over_hosts = asked.over_hosts;
    let mut screen = StatesScreen::new(&cx.output, asked.interrupts.clone());
    let machines = compile_all(&asked, &mut screen)?;
    drop(screen);
    if args.output == HostOutput::Json {
        cx.output.json(&for_machines(&machines, view, over_hosts));
        return Ok(0);
    }
    for CompiledMachine { name, compiled } in &machines {
        cx.output
            .answer(&for_people(name, compiled, view, cx.output.width));
    }
    Ok(0)
}

fn for_machines(machines: &[CompiledMachine], view: View, over_hosts: bool) -> Json {
    let of = |machine: &CompiledMachine| json!(view.of(&machine.compiled).redacted());
    if !over_hosts && let [machine] = machines {
        return of(machine);
    }
    let all: JsonMap<String, Json> = machines
        .iter()
        .map(|machine| (machine.name.to_string(), of(machine)))
        .collect();
    all.into()
}

fn for_people(name: &str, compiled: &Compiled, view: View, width: u16) -> String {
    match view {
        View::Graph => return compiled.dot(),
        View::Order => {
            let mut table = Table::new(&["#", "Function", "ID", "Name", "SLS", "Order"]);
            table = table.align(0, Align::Right).align(5, Align::Right);
            for (nth, index) in compiled.low.order.iter().enumerate() {
                let chunk = &compiled.low.chunks[*index as usize];
                let other_name = if chunk.name == chunk.id {
                    ""
                } else {
                    &chunk.name
                };
                table.row([
                    (nth + 1).to_string(),
                    format!("{}.{}", chunk.state, chunk.fun),
                    chunk.id.to_string(),
                    other_name.to_owned(),
                    chunk.sls.to_string(),
                    chunk.order.to_string(),
                ]);
            }
            return format!("{name}:\n{}", table.render(width));
        }
        View::High | View::Low | View::Top => {}
    }
    let mut text = format!("{name}:\n");
    nested(&view.of(compiled), 4, &mut text);
    text
}
