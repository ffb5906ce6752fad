//! Sends requests to a Collector: one at a time, in order, again where the protocol says so.
//!
//! All of it runs on the caller's thread, within [`Sender::run`] and similar calls. A request leaves the queue when the
//! Collector has answered it. If the Collector took a request and died before answering, it is sent again; the ids of
//! its spans show that it is the same.

use super::Batch;
use super::proto::{PartialSuccess, Response, RetryInfo, RpcStatus};
use crate::error::{Error, Kind, Result};
use crate::printable::printable;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{
    VerifierBuilderError, WebPkiServerVerifier, verify_server_name,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    crypto,
};

/// Waits between attempts: the first, and the longest that grows out of it.
const WAITS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// Longest wait that a Collector may ask for.
const ASKED: Duration = Duration::from_secs(60);
/// Longest answer that is read.
const ANSWER: usize = 4 << 20;
/// How often the queue is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What a request is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
    /// Log records.
    Logs,
}

impl Signal {
    const ALL: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

    fn name(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Metrics => "metrics",
            Signal::Logs => "logs",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Signal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Signal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            Signal::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        }
    }
}

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 with protobuf.
    Http,
    /// gRPC.
    Grpc,
}

/// Where the requests of a signal go.
#[derive(Clone, Debug)]
pub struct Target {
    protocol: Protocol,
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    gzip: bool,
    timeout: Duration,
    /// The endpoint names no scheme, and so means TLS.
    is_assumed_secure: bool,
}

impl Target {
    #[cfg(test)]
    pub fn uri(&self) -> String {
        self.uri.to_string()
    }

    fn host(&self) -> &str {
        let host = self.uri.host().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    fn is_secure(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    fn port(&self) -> u16 {
        let usual = if self.is_secure() { 443 } else { 80 };
        self.uri.port_u16().unwrap_or(usual)
    }
}

/// Where requests go, by signal, and how their receiver is known.
#[derive(Clone, Debug)]
pub struct Config {
    targets: [Target; 3],
    certificate: Option<PathBuf>,
    client: Option<(PathBuf, PathBuf)>,
    /// Bytes of requests that may wait.
    pub queue: u64,
}

impl Config {
    /// What the arguments say, and else the environment (`OTEL_EXPORTER_OTLP_*`).
    ///
    /// # Errors
    /// Where either makes no sense.
    pub fn new(
        endpoint: Option<&str>,
        protocol: Option<Protocol>,
        headers: &[(String, String)],
        queue: u64,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Config> {
        let [traces, metrics, logs] =
            Signal::ALL.map(|signal| target(signal, endpoint, protocol, headers, environment));
        let path =
            |what| setting(Signal::Traces, what, environment).map(|(path, _)| PathBuf::from(path));
        Ok(Config {
            targets: [traces?, metrics?, logs?],
            certificate: path("CERTIFICATE"),
            client: path("CLIENT_CERTIFICATE").zip(path("CLIENT_KEY")),
            queue,
        })
    }

    /// Where the requests of a signal go.
    pub fn target(&self, signal: Signal) -> &Target {
        &self.targets[signal as usize]
    }
}

/// A setting of the environment, and whether it is the signal's own.
fn setting(
    signal: Signal,
    what: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<(String, bool)> {
    let get = |name: String| environment(&name).filter(|value| !value.is_empty());
    let own = format!("OTEL_EXPORTER_OTLP_{}_{what}", signal.name().to_uppercase());
    let own = get(own).map(|value| (value, true));
    own.or_else(|| get(format!("OTEL_EXPORTER_OTLP_{what}")).map(|value| (value, false)))
}

/// Reads a setting of a signal.
type Get<'a> = dyn Fn(&str) -> Option<(String, bool)> + 'a;

fn target(
    signal: Signal,
    endpoint: Option<&str>,
    protocol: Option<Protocol>,
    headers: &[(String, String)],
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Target> {
    let get = |what: &str| setting(signal, what, environment);
    let protocol = match protocol {
        Some(protocol) => protocol,
        None => protocol_of(&get)?,
    };
    let address = address(signal, endpoint, protocol, &get)?;
    let headers = all_headers(headers, address.user, &get)?;
    let gzip = match get("COMPRESSION").map(|(name, _)| name).as_deref() {
        None | Some("none") => false,
        Some("gzip") => true,
        Some(name) => {
            return Err(Error::usage(format!(
                "OTEL_EXPORTER_OTLP_COMPRESSION: {name} is not supported; gzip and none are"
            )));
        }
    };
    let timeout = match get("TIMEOUT") {
        None => 10_000,
        Some((ms, _)) => (ms.parse()).map_err(|_| {
            Error::usage(format!(
                "OTEL_EXPORTER_OTLP_TIMEOUT: {ms} is not a number of milliseconds"
            ))
        })?,
    };
    Ok(Target {
        protocol,
        uri: address.uri,
        headers,
        gzip,
        timeout: Duration::from_millis(timeout),
        is_assumed_secure: address.is_assumed_secure,
    })
}

fn protocol_of(get: &Get<'_>) -> Result<Protocol> {
    let Some((name, _)) = get("PROTOCOL") else {
        return Ok(Protocol::Http);
    };
    match &*name {
        "http/protobuf" => Ok(Protocol::Http),
        "grpc" => Ok(Protocol::Grpc),
        name => Err(Error::usage(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL: {name} is not supported; http/protobuf and grpc are"
        ))),
    }
}

/// Where a signal goes.
struct Address {
    uri: Uri,
    /// What stood before the @. It is a secret: it goes into a header, and into no message.
    user: Option<String>,
    is_assumed_secure: bool,
}

fn address(
    signal: Signal,
    endpoint: Option<&str>,
    protocol: Protocol,
    get: &Get<'_>,
) -> Result<Address> {
    let (mut uri, own) = match (endpoint, get("ENDPOINT"), protocol) {
        (Some(endpoint), _, _) => (endpoint.to_owned(), false),
        (None, Some(found), _) => found,
        (None, None, Protocol::Http) => ("http://localhost:4318".to_owned(), false),
        (None, None, Protocol::Grpc) => ("http://localhost:4317".to_owned(), false),
    };
    let mut is_assumed_secure = false;
    let user = take_user(&mut uri);
    if protocol == Protocol::Grpc && !uri.contains("://") {
        let insecure = get("INSECURE").is_some_and(|(value, _)| value.eq_ignore_ascii_case("true"));
        uri = format!("{}://{uri}", if insecure { "http" } else { "https" });
        is_assumed_secure = !insecure;
    }
    match protocol {
        // A signal's own address is the whole of it.
        Protocol::Http if own => {}
        Protocol::Http => uri = format!("{}/v1/{}", uri.trim_end_matches('/'), signal.name()),
        Protocol::Grpc => {
            let path = uri
                .find("://")
                .and_then(|at| Some(at + 3 + uri[at + 3..].find('/')?));
            uri.truncate(path.unwrap_or(uri.len()));
            uri += signal.method();
        }
    }
    let parsed: Uri = (uri.parse()).map_err(|e| Error::usage(format!("endpoint {uri}: {e}")))?;
    if !matches!(parsed.scheme_str(), Some("http" | "https"))
        || parsed.host().is_none_or(str::is_empty)
    {
        return Err(Error::usage(format!(
            "endpoint {uri}: expected http://host:port or https://host:port"
        )));
    }
    Ok(Address {
        uri: parsed,
        user,
        is_assumed_secure,
    })
}

/// The headers of the environment, then these; and the address's user, if they do not say who sends.
fn all_headers(
    headers: &[(String, String)],
    user: Option<String>,
    get: &Get<'_>,
) -> Result<Vec<(HeaderName, HeaderValue)>> {
    let mut all = match get("HEADERS") {
        Some((list, _)) => {
            pairs(&list).map_err(|e| Error::usage(format!("OTEL_EXPORTER_OTLP_HEADERS: {e}")))?
        }
        None => Vec::new(),
    };
    all.extend_from_slice(headers);
    let is_own = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    if let (Some(user), false) = (user, all.iter().any(is_own)) {
        let value = format!("Basic {}", STANDARD.encode(user));
        all.push(("authorization".to_owned(), value));
    }
    let headers = all.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes());
        Ok((
            name.map_err(|_| ())?,
            HeaderValue::from_str(value).map_err(|_| ())?,
        ))
    });
    headers.collect::<Result<Vec<_>, ()>>().map_err(|()| {
        Error::usage("a header for the Collector has characters that HTTP does not allow")
    })
}

/// Takes `user:password@` out of an address.
fn take_user(uri: &mut String) -> Option<String> {
    let start = uri.find("://").map_or(0, |at| at + 3);
    let end = uri[start..]
        .find(['/', '?', '#'])
        .map_or(uri.len(), |at| start + at);
    let at = start + uri[start..end].rfind('@')?;
    let user = percent_decoded(&uri[start..at]);
    uri.replace_range(start..=at, "");
    Some(user)
}

/// Reads `a=b,c=d` with percent-encoded values, as W3C Baggage and OpenTelemetry's variables are written.
pub fn pairs(list: &str) -> Result<Vec<(String, String)>, String> {
    let list = list
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty());
    list.map(|pair| {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("{pair}: expected key=value"))?;
        Ok((key.trim().to_owned(), percent_decoded(value.trim())))
    })
    .collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| first == b'%');
        let code =
            code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How the requests ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Requests that the Collector answered.
    pub requests: u64,
    /// Spans that it took.
    pub spans: u64,
    /// Spans, data points and log records that it rejected, alone or with their request.
    pub rejected: u64,
    /// The same that found no room in the queue.
    pub dropped: u64,
    /// The same that were still waiting at the end.
    pub unsent: u64,
    /// Attempts after the first.
    pub retries: u64,
}

/// What the sending task and its owner share.
#[derive(Default)]
struct State {
    queue: VecDeque<Batch>,
    bytes: u64,
    sent: Sent,
    news: Vec<String>,
    /// Attempts that failed since the last answer.
    failures: u32,
    answered: Option<Instant>,
}

impl State {
    /// One that is alone may be larger than the queue.
    fn has_room(&self, batch: &Batch, limit: u64) -> bool {
        self.queue.is_empty() || self.bytes + batch.body.len() as u64 <= limit
    }
}

/// Sends requests.
pub struct Sender {
    runtime: tokio::runtime::Runtime,
    state: Arc<Mutex<State>>,
    limit: u64,
    begun: Instant,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sender {
    /// A sender; it connects when there is something to send.
    ///
    /// # Errors
    /// Where certificates cannot be read.
    pub fn new(config: Config) -> Result<Sender> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|e| Error::new(Kind::Io, format!("cannot begin to send: {e}")))?;
        let state = Arc::new(Mutex::new(State::default()));
        let limit = config.queue;
        let tls = match config.targets.iter().any(Target::is_secure) {
            true => Some((tls(&config, b"http/1.1")?, tls(&config, b"h2")?)),
            false => None,
        };
        runtime.spawn(send_all(Arc::clone(&state), config, tls));
        Ok(Sender {
            runtime,
            state,
            limit,
            begun: Instant::now(),
        })
    }

    /// Puts a request into the queue; where there is no room it is counted as dropped.
    pub fn push(&self, batch: Batch) {
        let mut state = lock(&self.state);
        if !state.has_room(&batch, self.limit) {
            state.sent.dropped += batch.items;
            return;
        }
        state.bytes += batch.body.len() as u64;
        state.queue.push_back(batch);
    }

    /// Gives the sending some time.
    pub fn run(&self, time: Duration) {
        self.runtime
            .block_on(async { tokio::time::sleep(time).await });
    }

    /// Whether there is room for a request.
    pub fn has_room(&self, batch: &Batch) -> bool {
        lock(&self.state).has_room(batch, self.limit)
    }

    /// Whether nothing waits.
    pub fn is_idle(&self) -> bool {
        lock(&self.state).queue.is_empty()
    }

    /// How long ago the Collector answered, or the sender began.
    pub fn silence(&self) -> Duration {
        lock(&self.state).answered.unwrap_or(self.begun).elapsed()
    }

    /// What to tell the user.
    pub fn news(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).news)
    }

    /// Ends; tells how all requests ended.
    pub fn stop(self) -> Sent {
        self.runtime.shutdown_background();
        let mut state = lock(&self.state);
        let unsent = state.queue.iter().map(|batch| batch.items).sum();
        state.sent.unsent = unsent;
        state.sent.clone()
    }
}

fn tls(config: &Config, protocol: &[u8]) -> Result<TlsConnector> {
    let unusable = |what: &dyn std::fmt::Display| Error::new(Kind::NotDone, format!("TLS: {what}"));
    let read = |path: &PathBuf| {
        let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        certificates.map_err(|e| unusable(&format_args!("{}: {e}", path.display())))
    };
    let mut roots = RootCertStore::empty();
    let certificates: Vec<CertificateDer> = match &config.certificate {
        Some(path) => read(path)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    roots.add_parsable_certificates(certificates.iter().cloned());
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| unusable(&e))?;
    let builder = match &config.certificate {
        None => builder.with_root_certificates(roots),
        Some(path) => {
            let verifier = Trusted::new(certificates, roots, provider)
                .map_err(|e| unusable(&format_args!("{}: {e}", path.display())))?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    let mut client = match &config.client {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|e| unusable(&format_args!("{}: {e}", key.display())))?;
            builder
                .with_client_auth_cert(read(certificate)?, key)
                .map_err(|e| unusable(&e))?
        }
    };
    client.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsConnector::from(Arc::new(client)))
}

/// Trusts what the user's certificates vouch for, and these certificates themselves: a server often shows the one that the user
/// named, which is its own issuer and so marked as an authority's. The default refuses that.
#[derive(Debug)]
struct Trusted {
    roots: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn new(
        named: Vec<CertificateDer<'static>>,
        roots: RootCertStore,
        provider: Arc<crypto::CryptoProvider>,
    ) -> Result<Trusted, VerifierBuilderError> {
        let roots = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(Trusted {
            roots: roots.build()?,
            named,
        })
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = (self.roots).verify_server_cert(shown, between, name, ocsp, now);
        match verified {
            // Not too old, of another name, or of an unknown issuer: those have errors of their own.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.named.contains(shown) =>
            {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        (self.roots).verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        (self.roots).verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.roots.supported_verify_schemes()
    }
}

/// A connection.
enum Link {
    Http(http1::SendRequest<Full<Bytes>>),
    Grpc(http2::SendRequest<Full<Bytes>>),
}

/// What an answer means for its request.
#[derive(Debug, PartialEq)]
enum Verdict {
    Accepted(Response),
    /// To be sent again, maybe after a time that the Collector names.
    Again(Option<Duration>, String),
    Refused(String),
}

type Connectors = Option<(TlsConnector, TlsConnector)>;

async fn send_all(state: Arc<Mutex<State>>, config: Config, tls: Connectors) {
    let mut links: [Option<Link>; 3] = [None, None, None];
    loop {
        let Some(batch) = lock(&state).queue.front().cloned() else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let target = config.target(batch.signal);
        let link = &mut links[batch.signal as usize];
        let attempt = attempt(target, &tls, link, &batch.body);
        let verdict = match tokio::time::timeout(target.timeout, attempt).await {
            Ok(verdict) => verdict,
            Err(_) => Verdict::Again(None, "no answer in time".to_owned()),
        };
        if matches!(verdict, Verdict::Again(..)) {
            *link = None;
        }
        let wait = settle(&mut lock(&state), &batch, target, verdict);
        if let Some(wait) = wait {
            tokio::time::sleep(wait).await;
        }
    }
}

/// Notes how the request in front ended; returns how long to wait where it is to be sent again.
fn settle(state: &mut State, batch: &Batch, target: &Target, verdict: Verdict) -> Option<Duration> {
    let place = target.uri.authority().map_or("", |a| a.as_str());
    if let Verdict::Again(asked, why) = verdict {
        if state.failures == 0 {
            state.news.push(format!("{place}: {why}; trying again"));
        }
        state.failures += 1;
        state.sent.retries += 1;
        return Some(asked.map_or_else(|| wait_after(state.failures), |asked| asked.min(ASKED)));
    }
    if std::mem::take(&mut state.failures) > 0 {
        state.news.push(format!("{place}: reached again"));
    }
    state.queue.pop_front();
    state.bytes -= batch.body.len() as u64;
    state.sent.requests += 1;
    state.answered = Some(Instant::now());
    let rejected = match verdict {
        Verdict::Refused(why) => {
            state.news.push(format!(
                "{place} refused {} {}: {why}",
                batch.items,
                what(batch.signal)
            ));
            batch.items
        }
        Verdict::Accepted(response) => {
            let partial = response.partial_success.unwrap_or_default();
            let rejected = u64::try_from(partial.rejected)
                .unwrap_or(0)
                .min(batch.items);
            if rejected > 0 || !partial.error_message.is_empty() {
                let why = partial.error_message;
                state.news.push(format!(
                    "{place} rejected {rejected} of {} {}: {why}",
                    batch.items,
                    what(batch.signal)
                ));
            }
            rejected
        }
        Verdict::Again(..) => 0,
    };
    state.sent.rejected += rejected;
    if batch.signal == Signal::Traces {
        state.sent.spans += batch.items - rejected;
    }
    None
}

fn what(signal: Signal) -> &'static str {
    match signal {
        Signal::Traces => "spans",
        Signal::Metrics => "data points",
        Signal::Logs => "log records",
    }
}

/// Twice as long with each failure, and a part of it by chance: many senders must not come at one time.
fn wait_after(failures: u32) -> Duration {
    let whole = WAITS
        .0
        .saturating_mul(1 << failures.saturating_sub(1).min(16))
        .min(WAITS.1);
    let chance = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |t| t.subsec_micros() % 1_000);
    whole / 2 + whole / 2 * chance / 1_000
}

async fn attempt(
    target: &Target,
    tls: &Connectors,
    link: &mut Option<Link>,
    body: &[u8],
) -> Verdict {
    let again = |what: String| Verdict::Again(None, what);
    let ready = match link {
        Some(Link::Http(sender)) => sender.ready().await.is_ok(),
        Some(Link::Grpc(sender)) => sender.ready().await.is_ok(),
        None => false,
    };
    if !ready {
        match connect(target, tls).await {
            Ok(new) => *link = Some(new),
            Err(e) => return again(e),
        }
    }
    let request = match request(target, body) {
        Ok(request) => request,
        Err(e) => return Verdict::Refused(e),
    };
    let response = match link {
        Some(Link::Http(sender)) => sender.send_request(request).await,
        Some(Link::Grpc(sender)) => sender.send_request(request).await,
        None => return again("not connected".to_owned()),
    };
    let response = match response {
        Ok(response) => response,
        Err(e) => return again(reason(&e)),
    };
    let (head, body) = response.into_parts();
    let read = Limited::new(body, ANSWER).collect().await;
    let (trailers, body) = match read {
        Ok(all) => (all.trailers().cloned(), all.to_bytes()),
        Err(e) => return again(e.to_string()),
    };
    match target.protocol {
        Protocol::Http => of_http(head.status, &head.headers, &body),
        Protocol::Grpc => of_grpc(
            head.status,
            trailers.as_ref().unwrap_or(&head.headers),
            &body,
        ),
    }
}

/// The innermost cause says most.
fn reason(e: &dyn std::error::Error) -> String {
    let mut e = e;
    while let Some(source) = e.source() {
        e = source;
    }
    e.to_string()
}

async fn connect(target: &Target, tls: &Connectors) -> Result<Link, String> {
    let stream = TcpStream::connect((target.host(), target.port())).await;
    let stream = stream.map_err(|e| e.to_string())?;
    let _ = stream.set_nodelay(true);
    match (target.is_secure(), tls) {
        (true, Some((http, grpc))) => {
            let connector = match target.protocol {
                Protocol::Http => http,
                Protocol::Grpc => grpc,
            };
            let name = ServerName::try_from(target.host().to_owned()).map_err(|e| e.to_string())?;
            let stream = connector.connect(name, stream).await;
            let stream = stream.map_err(|e| match target.is_assumed_secure {
                true => format!(
                    "TLS: {e}. The endpoint names no scheme, which means TLS for gRPC: without it name http://{}:{}, or set \
                     OTEL_EXPORTER_OTLP_INSECURE=true",
                    target.host(),
                    target.port()
                ),
                false => format!("TLS: {e}"),
            })?;
            handshake(target.protocol, stream).await
        }
        _ => handshake(target.protocol, stream).await,
    }
}

async fn handshake<S>(protocol: Protocol, stream: S) -> Result<Link, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = TokioIo::new(stream);
    match protocol {
        Protocol::Http => {
            let (sender, connection) = http1::handshake(stream).await.map_err(|e| reason(&e))?;
            tokio::spawn(connection);
            Ok(Link::Http(sender))
        }
        Protocol::Grpc => {
            let made = http2::handshake(TokioExecutor::new(), stream).await;
            let (sender, connection) = made.map_err(|e| reason(&e))?;
            tokio::spawn(connection);
            Ok(Link::Grpc(sender))
        }
    }
}

fn request(target: &Target, body: &[u8]) -> Result<Request<Full<Bytes>>, String> {
    let packed = match target.gzip {
        true => Some(gzip(body)?),
        false => None,
    };
    let body = packed.as_deref().unwrap_or(body);
    let builder = Request::post(match target.protocol {
        // HTTP/1.1 asks for the path alone.
        Protocol::Http => target
            .uri
            .path_and_query()
            .map_or("/", |p| p.as_str())
            .to_owned(),
        Protocol::Grpc => target.uri.to_string(),
    })
    .header("user-agent", concat!("weave/", env!("CARGO_PKG_VERSION")));
    let (mut builder, body) = match target.protocol {
        Protocol::Http => {
            let host = target.uri.authority().map_or("", |a| a.as_str());
            let mut builder = builder
                .header("host", host)
                .header("content-type", "application/x-protobuf");
            if target.gzip {
                builder = builder.header("content-encoding", "gzip");
            }
            (builder, body.to_vec())
        }
        Protocol::Grpc => {
            let mut builder = (builder.header("content-type", "application/grpc"))
                .header("te", "trailers")
                .header(
                    "grpc-timeout",
                    format!("{}m", target.timeout.as_millis().min(99_999_999)),
                );
            if target.gzip {
                builder = builder.header("grpc-encoding", "gzip");
            }
            let len = u32::try_from(body.len()).map_err(|e| e.to_string())?;
            let mut message = vec![u8::from(target.gzip)];
            message.extend_from_slice(&len.to_be_bytes());
            message.extend_from_slice(body);
            (builder, message)
        }
    };
    for (name, value) in &target.headers {
        builder = builder.header(name, value);
    }
    builder
        .body(Full::new(Bytes::from(body)))
        .map_err(|e| e.to_string())
}

fn gzip(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut packed = vec![0; compressor.gzip_compress_bound(body.len())];
    let len = compressor
        .gzip_compress(body, &mut packed)
        .map_err(|e| e.to_string())?;
    packed.truncate(len);
    Ok(packed)
}

/// Statuses of HTTP after which a request may be sent again.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

fn of_http(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Verdict {
    if status.is_success() {
        return match answer(headers, body) {
            Some(response) => Verdict::Accepted(response),
            None => Verdict::Refused(format!(
                "{status} with an answer that is not OTLP's{}: is this the endpoint of a Collector?",
                kind_of(headers).map_or(String::new(), |kind| format!(" ({kind})"))
            )),
        };
    }
    let told = RpcStatus::decode(body)
        .map(|s| s.message)
        .unwrap_or_default();
    let what = match &*told {
        "" => status.to_string(),
        told => format!("{status}: {told}"),
    };
    if !is_passing(status) {
        return Verdict::Refused(what);
    }
    let after = headers
        .get("retry-after")
        .and_then(|v| v.to_str().ok()?.trim().parse().ok());
    Verdict::Again(after.map(Duration::from_secs), what)
}

/// The type of an answer, without its parameters.
fn kind_of(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get("content-type")?.to_str().ok()?;
    Some(printable(kind.split(';').next()?.trim()))
}

/// The message of an answer: protobuf, JSON as some servers send it whatever they were sent, or nothing at all.
fn answer(headers: &HeaderMap, body: &[u8]) -> Option<Response> {
    let is_json =
        kind_of(headers).is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    if !is_json {
        return Response::decode(body).ok();
    }
    let json: serde_json::Value = serde_json::from_slice(body).ok()?;
    let partial = json.as_object()?.get("partialSuccess");
    let rejected = |partial: &serde_json::Value| {
        let names = ["rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"];
        // JSON has 64-bit numbers as text.
        let number = names.iter().find_map(|name| partial.get(name))?;
        number.as_i64().or_else(|| number.as_str()?.parse().ok())
    };
    let partial_success = partial.map(|partial| PartialSuccess {
        rejected: rejected(partial).unwrap_or(0),
        error_message: partial["errorMessage"].as_str().unwrap_or("").to_owned(),
    });
    Some(Response { partial_success })
}

fn of_grpc(status: StatusCode, trailers: &HeaderMap, body: &[u8]) -> Verdict {
    let text = |name| {
        trailers
            .get(name)
            .and_then(|v: &HeaderValue| v.to_str().ok())
    };
    let Some(code) = text("grpc-status").and_then(|code| code.parse::<u32>().ok()) else {
        let what = format!("{status} without a status of gRPC");
        return match status.is_success() || is_passing(status) {
            true => Verdict::Again(None, what),
            false => Verdict::Refused(what),
        };
    };
    if code == 0 {
        let message = body.get(5..).unwrap_or_default();
        return Verdict::Accepted(Response::decode(message).unwrap_or_default());
    }
    let what = format!(
        "status {code}: {}",
        percent_decoded(text("grpc-message").unwrap_or(""))
    );
    let delay = text("grpc-status-details-bin").and_then(retry_delay);
    // As the protocol lists them; RESOURCE_EXHAUSTED only where the Collector says when.
    match code {
        1 | 4 | 10 | 11 | 14 | 15 => Verdict::Again(delay, what),
        8 if delay.is_some() => Verdict::Again(delay, what),
        _ => Verdict::Refused(what),
    }
}

fn retry_delay(details: &str) -> Option<Duration> {
    let bytes = STANDARD_NO_PAD
        .decode(details)
        .or_else(|_| STANDARD.decode(details))
        .ok()?;
    let status = RpcStatus::decode(&*bytes).ok()?;
    let info = status
        .details
        .iter()
        .find(|d| d.type_url.ends_with("google.rpc.RetryInfo"))?;
    let delay = RetryInfo::decode(&*info.value).ok()?.retry_delay?;
    let seconds = u64::try_from(delay.seconds).ok()?;
    Some(Duration::new(
        seconds,
        u32::try_from(delay.nanos).ok()?.min(999_999_999),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::proto::{Any, Delay};
    use super::*;

    fn trailers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        });
        pairs.collect()
    }

    #[test]
    fn an_answer_over_http_is_a_message_or_a_failure() {
        let response = |rejected| Response {
            partial_success: Some(PartialSuccess {
                rejected,
                error_message: "x".to_owned(),
            }),
        };
        let of = |kind: &str, body: &[u8]| {
            of_http(StatusCode::OK, &trailers(&[("content-type", kind)]), body)
        };
        let none = Verdict::Accepted(Response::default());
        assert_eq!(of_http(StatusCode::OK, &HeaderMap::new(), b""), none);
        assert_eq!(of("application/json", b"{}"), none);
        let message = response(2).encode_to_vec();
        let accepted = of("application/x-protobuf", &message);
        assert_eq!(accepted, Verdict::Accepted(response(2)));
        let json = br#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}"#;
        let accepted = of("application/json; charset=utf-8", json);
        assert_eq!(accepted, Verdict::Accepted(response(3)));
        for (kind, body) in [
            (
                "text/html; charset=utf-8",
                "<!doctype html><title>Log in</title>",
            ),
            ("text/plain", "welcome"),
            ("application/json", "[1]"),
            ("application/json", "{"),
        ] {
            let Verdict::Refused(why) = of(kind, body.as_bytes()) else {
                panic!("{body} was taken");
            };
            assert!(why.contains("not OTLP"), "{why}");
        }
    }

    #[test]
    fn answers_of_grpc_are_in_the_trailers() {
        let response = Response {
            partial_success: Some(PartialSuccess {
                rejected: 2,
                error_message: "x".to_owned(),
            }),
        };
        let mut body = vec![0, 0, 0, 0, 7];
        body.extend(response.encode_to_vec());
        let fine = of_grpc(StatusCode::OK, &trailers(&[("grpc-status", "0")]), &body);
        assert_eq!(fine, Verdict::Accepted(response));
        let busy = trailers(&[("grpc-status", "14"), ("grpc-message", "down%20now")]);
        let busy = of_grpc(StatusCode::OK, &busy, &[]);
        assert_eq!(busy, Verdict::Again(None, "status 14: down now".to_owned()));
        let wrong = of_grpc(StatusCode::OK, &trailers(&[("grpc-status", "3")]), &[]);
        assert!(matches!(wrong, Verdict::Refused(_)));
        let exhausted = of_grpc(StatusCode::OK, &trailers(&[("grpc-status", "8")]), &[]);
        assert!(matches!(exhausted, Verdict::Refused(_)));
        let info = RetryInfo {
            retry_delay: Some(Delay {
                seconds: 3,
                nanos: 500_000_000,
            }),
        };
        let status = RpcStatus {
            code: 8,
            message: String::new(),
            details: vec![Any {
                type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
                value: info.encode_to_vec(),
            }],
        };
        let details = STANDARD_NO_PAD.encode(status.encode_to_vec());
        let later = trailers(&[("grpc-status", "8"), ("grpc-status-details-bin", &details)]);
        let later = of_grpc(StatusCode::OK, &later, &[]);
        assert!(matches!(later, Verdict::Again(Some(d), _) if d == Duration::from_millis(3_500)));
        let none = of_grpc(StatusCode::BAD_GATEWAY, &HeaderMap::new(), &[]);
        assert!(matches!(none, Verdict::Again(..)));
        let none = of_grpc(StatusCode::NOT_FOUND, &HeaderMap::new(), &[]);
        assert!(matches!(none, Verdict::Refused(_)));
    }

    #[test]
    fn a_servers_own_certificate_may_be_the_one_that_is_trusted() {
        let read = |pem: &[u8]| -> Vec<CertificateDer<'static>> {
            CertificateDer::pem_slice_iter(pem)
                .map(Result::unwrap)
                .collect()
        };
        // Its own issuer, and marked as an authority's, as `openssl req -x509` makes them.
        let own = read(include_bytes!("../../../../tests/keys/localhost-cert.pem"));
        let other = read(include_bytes!("../../../../tests/keys/ec-cert.pem"));
        let trusted = |named: &[CertificateDer<'static>]| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(named.iter().cloned());
            let provider = Arc::new(crypto::ring::default_provider());
            Trusted::new(named.to_vec(), roots, provider).unwrap()
        };
        // The first days of December 2026, and a year before.
        let (now, before) = (1_796_200_000, 1_764_700_000);
        let verify = |verifier: &dyn ServerCertVerifier, name: &str, at| {
            let name = ServerName::try_from(name.to_owned()).unwrap();
            let at = UnixTime::since_unix_epoch(Duration::from_secs(at));
            verifier
                .verify_server_cert(&own[0], &[], &name, &[], at)
                .is_ok()
        };
        assert!(
            !verify(&*trusted(&own).roots, "localhost", now),
            "the default"
        );
        assert!(verify(&trusted(&own), "localhost", now));
        assert!(!verify(&trusted(&own), "example.org", now));
        assert!(!verify(&trusted(&own), "localhost", before));
        assert!(!verify(&trusted(&other), "localhost", now));
    }

    #[test]
    fn gzip_packs() {
        let body = b"com.acme.Orders.place ".repeat(6_000);
        let packed = gzip(&body).unwrap();
        assert!(packed.len() * 20 < body.len(), "{} bytes", packed.len());
        let mut unpacked = vec![0; body.len()];
        let mut codec = libdeflater::Decompressor::new();
        codec.gzip_decompress(&packed, &mut unpacked).unwrap();
        assert!(unpacked == body);
    }

    #[test]
    fn waits_grow_to_a_bound() {
        for failures in 1..40 {
            let wait = wait_after(failures);
            assert!(
                wait >= WAITS.0 / 2 && wait <= WAITS.1,
                "{failures}: {wait:?}"
            );
        }
        assert!(wait_after(9) >= WAITS.1 / 2);
    }
}
