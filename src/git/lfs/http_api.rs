//! The git-lfs locking API over HTTP: creates, lists and removes locks.

use super::Error;
use super::credentials::{self, Credentials};
use super::endpoint::HttpEndpoint;
use super::lock::{LfsLock, LockOutcome};
use super::response::{
    LockPage, parse_lock, parse_message, parse_page, parse_verified_page, refusal_error,
};
use super::settings::{LfsSettings, url_settings};
use crate::system::http::{self, Limits, Request, Response};
use crate::value::{Secrets, encode_percent};

/// The media type of requests and responses.
const MEDIA_TYPE: &str = "application/vnd.git-lfs+json";

/// A server with the HTTP API.
pub(super) struct HttpApi {
    settings: LfsSettings,
    endpoint: HttpEndpoint,
    /// Additional headers of each request: configured ones and access headers.
    headers: Vec<(String, String)>,
    limits: Limits,
    login: Option<Credentials>,
    /// Texts that must be redacted in messages.
    secrets: Secrets,
}

impl std::fmt::Debug for HttpApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpApi")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl HttpApi {
    /// Creates an API client for an endpoint. `granted` are access headers obtained over SSH.
    pub(super) fn new(
        settings: &LfsSettings,
        endpoint: HttpEndpoint,
        granted: Vec<(String, String)>,
    ) -> Self {
        let mut headers = granted;
        let mut limits = Limits {
            connect: settings.connect_timeout,
            total: settings.request_timeout(),
            ..Limits::default()
        };
        for (name, value) in url_settings(settings, &endpoint.url) {
            match (name.as_str(), value.split_once(':')) {
                ("extraheader", Some((name, value))) => {
                    headers.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                ("sslcainfo", _) if !value.is_empty() => limits.roots = Some(value.into()),
                _ => {}
            }
        }
        let login = match &endpoint.login {
            Some((user, Some(password))) => Some(Credentials {
                user: user.clone(),
                password: password.clone(),
            }),
            _ => None,
        };
        let mut secrets = Secrets::default();
        for (_, value) in &headers {
            secrets.add(value);
            if let Some((_, token)) = value.split_once(' ') {
                secrets.add(token);
            }
        }
        let mut api = Self {
            settings: settings.clone(),
            endpoint,
            headers,
            limits,
            login: None,
            secrets,
        };
        api.set_login(login);
        api
    }

    fn set_login(&mut self, login: Option<Credentials>) {
        let secrets = login.iter().flat_map(Credentials::secrets);
        secrets.for_each(|secret| self.secrets.add(secret));
        self.login = login;
    }

    pub(super) fn url(&self) -> &str {
        &self.endpoint.url
    }

    pub(super) fn create(&mut self, path: &str) -> Result<LockOutcome, Error> {
        let mut body = serde_json::json!({ "path": path });
        self.add_reference(&mut body);
        let response = self.call("/locks", Some(&body))?;
        match response.status {
            200 | 201 => match parse_lock(&response.body) {
                Some(lock) => Ok(LockOutcome::Acquired(lock)),
                None => Err(self.invalid_response("it contains no lock")),
            },
            409 => Ok(LockOutcome::HeldByOther(parse_lock(&response.body))),
            _ => Err(self.refusal_error(&response)),
        }
    }

    /// Returns one page of the list of locks, restricted to `path` if given.
    pub(super) fn list(
        &mut self,
        path: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<LockPage, Error> {
        let mut query = String::from("?limit=100");
        for (name, value) in [("path", path), ("cursor", cursor)] {
            if let Some(value) = value {
                query.extend(["&", name, "=", &encode_percent(value, b"")]);
            }
        }
        if let Some(reference) = &self.settings.reference {
            query.extend(["&refspec=", &encode_percent(reference, b"")]);
        }
        let response = self.call(&format!("/locks{query}"), None)?;
        if response.status != 200 {
            return Err(self.refusal_error(&response));
        }
        parse_page(&response.body)
            .ok_or_else(|| self.invalid_response("it contains no list of locks"))
    }

    /// Returns one page of the list of all locks, with the ids of those that belong to this user.
    pub(super) fn verify(&mut self, cursor: Option<&str>) -> Result<LockPage, Error> {
        let mut body = serde_json::json!({ "limit": 100 });
        if let Some(cursor) = cursor {
            body["cursor"] = cursor.into();
        }
        self.add_reference(&mut body);
        let response = self.call("/locks/verify", Some(&body))?;
        if response.status != 200 {
            return Err(self.refusal_error(&response));
        }
        let page = parse_verified_page(&response.body)
            .ok_or_else(|| self.invalid_response("it contains no lists of locks"))?;
        Ok(LockPage {
            server_time: response.server_time,
            ..page
        })
    }

    /// Removes a lock. Returns whether it existed.
    pub(super) fn unlock(&mut self, lock: &LfsLock, force: bool) -> Result<bool, Error> {
        let mut body = serde_json::json!({ "force": force });
        self.add_reference(&mut body);
        let path = format!("/locks/{}/unlock", encode_percent(&lock.id, b""));
        let response = self.call(&path, Some(&body))?;
        match response.status {
            200 | 204 => Ok(true),
            404 => Ok(false),
            _ => Err(self.refusal_error(&response)),
        }
    }

    fn add_reference(&self, body: &mut serde_json::Value) {
        if let Some(reference) = &self.settings.reference {
            body["ref"] = serde_json::json!({ "name": reference });
        }
    }

    /// Sends a request, and repeats it with a login if the server responds with 401.
    fn call(&mut self, path: &str, body: Option<&serde_json::Value>) -> Result<Response, Error> {
        let mut response = self.send(path, body)?;
        if response.status == 404
            && let Some(otherwise) = self.endpoint.fallback_url.take()
        {
            let first = std::mem::replace(&mut self.endpoint.url, otherwise);
            let second = self.send(path, body)?;
            if second.status == 404 {
                self.endpoint.url = first;
            } else {
                response = second;
            }
        }
        if response.status == 401 {
            response = self.call_with_login(path, body, response)?;
        }
        Ok(response)
    }

    fn call_with_login(
        &mut self,
        path: &str,
        body: Option<&serde_json::Value>,
        refused: Response,
    ) -> Result<Response, Error> {
        let (settings, url) = (self.settings.clone(), self.endpoint.url.clone());
        if let Some(wrong) = self.login.take() {
            credentials::report_result(&settings, &url, &wrong, false);
        }
        let user = self.endpoint.login.clone().map(|(user, _)| user);
        let Some(login) = credentials::fill(&settings, &url, user.as_deref()) else {
            return Ok(refused);
        };
        self.set_login(Some(login.clone()));
        let response = self.send(path, body)?;
        match response.status {
            401 => {
                credentials::report_result(&settings, &url, &login, false);
                self.login = None;
            }
            200..=299 | 403 | 404 | 409 => {
                credentials::report_result(&settings, &url, &login, true);
            }
            _ => {}
        }
        Ok(response)
    }

    fn send(&self, path: &str, body: Option<&serde_json::Value>) -> Result<Response, Error> {
        let mut headers = vec![("Accept".to_owned(), MEDIA_TYPE.to_owned())];
        if body.is_some() {
            headers.push(("Content-Type".to_owned(), MEDIA_TYPE.to_owned()));
        }
        headers.extend(self.headers.iter().cloned());
        let has_one = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
        if let Some(login) = &self.login
            && !self.headers.iter().any(has_one)
        {
            headers.push(("Authorization".to_owned(), login.authorization_header()));
        }
        let request = Request {
            url: format!("{}{path}", self.endpoint.url),
            headers,
            body: body.map(|body| body.to_string().into_bytes()),
        };
        http::send(&request, &self.limits).map_err(|error| {
            let error = Error::Unreachable {
                server: self.endpoint.url.clone(),
                reason: error.to_string(),
                was_sent: !matches!(
                    error,
                    http::Error::NotConnected(_) | http::Error::Invalid(_)
                ),
            };
            error.redacted(&self.secrets)
        })
    }

    fn refusal_error(&self, response: &Response) -> Error {
        let message = parse_message(&response.body);
        let no_locks = [404, 405, 410, 501];
        let error = refusal_error(
            self.endpoint.url.clone(),
            message,
            response.status,
            &no_locks,
        );
        error.redacted(&self.secrets)
    }

    fn invalid_response(&self, reason: &str) -> Error {
        Error::InvalidResponse {
            server: self.endpoint.url.clone(),
            reason: reason.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_place_in_a_url() {
        assert_eq!(encode_percent("../a b&c=ä", b""), "..%2Fa%20b%26c%3D%C3%A4");
    }
}
