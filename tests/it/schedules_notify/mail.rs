//! Mails through a real sendmail.

use super::project::{break_task, project, undelivered};
use super::smtp::SmtpServer;
use crate::requires::program;

#[test]
fn a_mail_arrives_through_sendmail() {
    requires!("msmtp");
    let server = SmtpServer::start();
    let sendmail = program("msmtp").unwrap();
    let env = project(&format!(
        "t: {{every: 1h, action: task, task: look, notify: [
  {{mail: {{to: [ops@example.com, on-call@example.com], from: unfurl@example.com, sendmail: {}}}}}]}}",
        sendmail.display()
    ));
    let settings = format!(
        "account default\nhost 127.0.0.1\nport {}\nfrom unfurl@example.com\n",
        server.port
    );
    env.write("../home/.msmtprc", &settings);
    break_task(&env, true);
    env.unfurl(["schedule", "run", "t"]).exits(1);
    assert_eq!(undelivered(&env, "t"), []);
    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    let mail = &mails[0];
    assert_eq!(
        mail.receivers,
        ["<ops@example.com>", "<on-call@example.com>"]
    );
    let (head, body) = mail.text.split_once("\n\n").unwrap();
    for line in [
        "From: unfurl@example.com",
        "To: ops@example.com,",
        "Subject: [unfurl] t: the run failed",
        "Auto-Submitted: auto-generated",
    ] {
        assert!(
            head.lines().any(|it| it.starts_with(line)),
            "{line}\n{head}"
        );
    }
    assert!(body.contains("Schedule t, due at "), "{body}");
}

#[test]
fn a_missing_sendmail_is_in_the_log() {
    let env = project(
        "t: {every: 1h, action: task, task: look, notify: [{mail: {to: root, sendmail: /no/such/sendmail}}]}",
    );
    break_task(&env, true);
    let run = env.unfurl(["schedule", "run", "t"]).exits(1);
    run.says(&[
        "t: the notice to mail to root waits until ",
        "`/no/such/sendmail` was not found",
    ]);
    let (state, reason) = undelivered(&env, "t").remove(0);
    assert_eq!(state, "waits");
    assert!(
        reason.starts_with("`/no/such/sendmail` was not found"),
        "{reason}"
    );
}
