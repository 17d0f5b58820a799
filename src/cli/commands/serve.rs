//! The command `serve`: runs the schedules of a project in the foreground.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;

use crate::cli::commands::schedule::schedules_request;
use crate::cli::left_out::LeftOutCommand;
use crate::cli::output::{Context, Output, relative};
use crate::diagnostic::{Diagnostics, Sources};
use crate::ops::schedules::{ServeRequest, ServeView, serve as serve_schedules};
use crate::ops::{Failure, FailureKind, watch_signals};
use crate::schedule::SharedMetrics;
use crate::system::clock;
use crate::system::fs::os_message;
use crate::web::{MetricsAddress, MetricsServer};

/// Run the schedules of the project in the foreground, until a signal ends it
///
/// Each event is one line of the error output. SIGTERM and SIGINT end the running commands in order. SIGHUP and a
/// changed `unfurl.yaml` load the schedules again.
#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    /// The folder or file of the project; by default, the project around the current folder
    #[arg(value_name = "PROJECT")]
    project: Option<PathBuf>,
    /// Serve figures for Prometheus at `/metrics`, and `/healthz`, on this loopback address
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<MetricsAddress>,
    #[command(flatten)]
    api: ApiServerArgs,
}

/// The options of Unfurl's API server, which this program leaves out.
#[derive(Debug, Args)]
struct ApiServerArgs {
    /// Not supported
    #[arg(long, hide = true, value_name = "PORT")]
    port: Option<String>,
    /// Not supported
    #[arg(long, hide = true, value_name = "ADDRESS")]
    address: Option<String>,
    /// Not supported
    #[arg(long, hide = true, value_name = "SECRET")]
    secret: Option<String>,
    /// Not supported
    #[arg(long, hide = true, value_name = "PATH")]
    clone_root: Option<String>,
    /// Not supported
    #[arg(long, hide = true, value_name = "URL")]
    cloud_server: Option<String>,
    /// Not supported
    #[arg(long, hide = true, value_name = "ORIGIN")]
    cors: Option<String>,
    /// Not supported
    #[arg(long, hide = true)]
    gui: bool,
    /// Not supported
    #[arg(long, hide = true, value_name = "FORMAT")]
    output: Option<String>,
}

impl ApiServerArgs {
    fn is_given(&self) -> bool {
        let texts = [
            &self.port,
            &self.address,
            &self.secret,
            &self.clone_root,
            &self.cloud_server,
            &self.cors,
        ];
        self.gui || texts.into_iter().any(Option::is_some)
    }
}

/// Runs the schedules until a signal arrives, and returns the exit code.
pub(in crate::cli) fn serve(args: &ServeArgs, cx: &Context) -> Result<u8, Failure> {
    if args.api.is_given() {
        return Err(LeftOutCommand::Serve.failure());
    }
    let metrics = args.metrics.map(|_| SharedMetrics::default());
    let mut lines = EventLines { output: &cx.output };
    let _server = match args.metrics.zip(metrics.clone()) {
        Some((address, metrics)) => {
            let server = start_metrics(address, metrics)?;
            let text = format!("serves metrics at http://{}/metrics", server.address());
            lines.event(clock::now(), "", &text);
            Some(server)
        }
        None => None,
    };
    let request = ServeRequest {
        schedules: schedules_request(args.project.clone(), cx),
        metrics,
        interrupts: watch_signals(),
    };
    serve_schedules(&request, &mut lines)?;
    Ok(0)
}

fn start_metrics(
    address: MetricsAddress,
    metrics: SharedMetrics,
) -> Result<MetricsServer, Failure> {
    MetricsServer::start(address, metrics).map_err(|error| {
        let message = format!(
            "metrics cannot be served at `{address}`: {}",
            os_message(&error)
        );
        let hint = "choose another port, or end the program that uses this one";
        Failure::new(FailureKind::Refused, message, Some(hint.to_owned()))
    })
}

/// Prints events to the error output, one per line.
struct EventLines<'a> {
    output: &'a Output,
}

impl ServeView for EventLines<'_> {
    fn event(&mut self, time: Timestamp, schedule: &str, text: &str) {
        let time = time.strftime("%Y-%m-%dT%H:%M:%SZ");
        let schedule = if schedule.is_empty() {
            "unfurl"
        } else {
            schedule
        };
        let text = text.replace('\n', " ");
        self.output
            .print_stderr(&format!("{time} {schedule}: {text}\n"));
    }

    fn problems(&mut self, problems: &Diagnostics, sources: &Sources) {
        self.output.diagnostics(problems, &relative(sources));
    }
}
