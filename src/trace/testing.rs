//! Writes traces for tests: chunks word by word, sound or not.

use super::format::{CHUNK, CHUNK_HEADER, CHUNK_MAGIC, MAGIC, THREAD_DAEMON, THREAD_OWN};
use crate::spans::{Kind, SpanRule};
use crate::switches::{Level, Sampling, Switch, Switches};
use crate::symbols;
use std::sync::Arc;

/// A chunk under way.
pub(crate) struct Chunk(Vec<u8>);

impl Chunk {
    /// A chunk of records; its serial number is its place in the file.
    pub(crate) fn records(thread: u32, segment: u32, start: u64) -> Chunk {
        Chunk::new(1, thread, segment, start)
    }

    pub(crate) fn new(kind: u32, owner: u32, number: u32, start: u64) -> Chunk {
        let mut bytes = CHUNK_MAGIC.to_vec();
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&owner.to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&start.to_le_bytes());
        Chunk(bytes)
    }

    /// How often methods were called that are only counted.
    pub(crate) fn counts(number: u32, begun: u64, calls: &[(u32, u64)]) -> Chunk {
        let chunk = Chunk::new(3, number, 0, begun);
        (calls.iter()).fold(chunk, |chunk, &(id, n)| chunk.word(u64::from(id)).word(n))
    }

    /// A method that was summed up, whose calls all took the same time, which is of this bucket.
    pub(crate) fn aggregate(
        self,
        id: u32,
        bucket: u64,
        [calls, ended, errors]: [u64; 3],
        [took, own]: [u64; 2],
    ) -> Chunk {
        let head = 2 << 40 | bucket << 32 | u64::from(id);
        let sums = [
            head,
            calls,
            errors,
            ended * took,
            ended * own,
            took,
            took,
            ended,
            0,
        ];
        sums.into_iter().fold(self, Chunk::word)
    }

    pub(crate) fn word(mut self, word: u64) -> Chunk {
        self.0.extend_from_slice(&word.to_le_bytes());
        assert!(self.0.len() <= CHUNK, "a chunk is full");
        self
    }

    fn call(self, kind: u64, delta: u64, id: u32) -> Chunk {
        assert!(delta < 1 << 30);
        self.word(u64::from(id) << 32 | delta << 2 | kind)
    }

    pub(crate) fn enter(self, delta: u64, id: u32) -> Chunk {
        self.call(1, delta, id)
    }

    pub(crate) fn exit(self, delta: u64, id: u32) -> Chunk {
        self.call(2, delta, id)
    }

    pub(crate) fn error(self, delta: u64, id: u32) -> Chunk {
        self.call(3, delta, id)
    }

    pub(crate) fn escape(mut self, ty: u64, argument: u32, payload: &[u64]) -> Chunk {
        self = self.word(u64::from(argument) << 32 | (payload.len() as u64) << 8 | ty << 2);
        payload.iter().fold(self, |chunk, &word| chunk.word(word))
    }

    pub(crate) fn time(self, time: u64) -> Chunk {
        self.escape(1, 0, &[time])
    }

    pub(crate) fn segment(self, thread: u32, number: u64, time: u64) -> Chunk {
        self.escape(2, thread, &[number, time])
    }

    pub(crate) fn thread(self, thread: u32, flags: u32, name: &str) -> Chunk {
        let payload = text(flags, name.len() as u32, name.as_bytes());
        self.escape(3, thread, &payload)
    }

    pub(crate) fn exception(self, ty: &str, message: &str) -> Chunk {
        let payload = text(
            ty.len() as u32,
            message.len() as u32,
            &[ty.as_bytes(), message.as_bytes()].concat(),
        );
        self.escape(4, 0, &payload)
    }

    pub(crate) fn lost(self, count: u64) -> Chunk {
        self.escape(5, 0, &[count])
    }

    pub(crate) fn unhandled(self, time: u64) -> Chunk {
        self.escape(7, 0, &[0, time])
    }

    /// What the process used: numbers of metrics and their values.
    pub(crate) fn sample(self, time: u64, values: &[(u8, u64)]) -> Chunk {
        let words = values
            .iter()
            .map(|&(metric, value)| value << 8 | u64::from(metric));
        let payload: Vec<u64> = [time].into_iter().chain(words).collect();
        self.escape(8, 0, &payload)
    }

    /// CPU time that a thread has used so far.
    pub(crate) fn cpu(self, thread: u32, time: u64, used: u64) -> Chunk {
        self.escape(11, thread, &[time, used])
    }

    /// A value of one word (kinds 2 to 7), or null (kind 1).
    pub(crate) fn value(self, id: u32, number: u16, of_end: bool, kind: u64, word: u64) -> Chunk {
        let head = u64::from(number) << 16 | u64::from(of_end) << 10 | kind;
        let payload = [head, word];
        self.escape(9, id, if kind == 1 { &payload[..1] } else { &payload })
    }

    /// A value that is a string.
    pub(crate) fn text_value(self, id: u32, number: u16, of_end: bool, value: &str) -> Chunk {
        self.value_of_text(id, number, 8 | u64::from(of_end) << 10, value)
    }

    /// A text with its kind and flags.
    pub(crate) fn value_of_text(self, id: u32, number: u16, kind: u64, value: &str) -> Chunk {
        let units: Vec<u16> = value.encode_utf16().collect();
        let mut payload = vec![(units.len() as u64) << 32 | u64::from(number) << 16 | kind];
        payload.extend(units.chunks(4).map(|part| {
            let units = part.iter().rev();
            units.fold(0, |word, &unit| word << 16 | u64::from(unit))
        }));
        self.escape(9, id, &payload)
    }

    /// The next call is the outermost of a sampled tree, and stands for so many.
    pub(crate) fn sampled(self, id: u32, weight: u64) -> Chunk {
        self.escape(13, id, &[weight])
    }

    /// A piece of a logical call begins.
    /// The next enter is of a span.
    pub(crate) fn span(self, id: u32, trace: u128, span: u64, parent: u64, flags: u64) -> Chunk {
        let payload = [(trace >> 64) as u64, trace as u64, span, parent, flags];
        self.escape(14, id, &payload)
    }

    /// What follows runs below a span; below none, where that is 0.
    pub(crate) fn context(self, trace: u128, span: u64) -> Chunk {
        let payload = [(trace >> 64) as u64, trace as u64, span, 1];
        self.escape(15, 0, &payload)
    }

    pub(crate) fn resume(self, delta: u64, id: u32, call: u64, first: bool) -> Chunk {
        self.escape(16, u32::from(first), &[call]).enter(delta, id)
    }

    /// The last piece of a logical call ends.
    pub(crate) fn end(self, delta: u64, id: u32, call: u64) -> Chunk {
        self.escape(16, 2, &[call]).exit(delta, id)
    }

    /// The same by an exception.
    pub(crate) fn fail(self, delta: u64, id: u32, call: u64) -> Chunk {
        self.escape(16, 2, &[call]).error(delta, id)
    }

    pub(crate) fn begin(self, id: u32, call: u64, time: u64) -> Chunk {
        self.escape(17, id, &[call, time])
    }

    pub(crate) fn complete(self, id: u32, call: u64, time: u64, failed: bool) -> Chunk {
        self.escape(18, id, &[call, time, u64::from(failed)])
    }

    /// The call that ends next goes on as a logical one.
    pub(crate) fn stays(self, id: u32, call: u64) -> Chunk {
        self.escape(19, id, &[call])
    }

    /// The chunk, padded with zeros.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.0.resize(CHUNK, 0);
        self.0
    }
}

/// Two halves of a word, then text padded with zeros.
fn text(low: u32, high: u32, bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![u64::from(high) << 32 | u64::from(low)];
    words.extend(bytes.chunks(8).map(|part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(word)
    }));
    words
}

/// A trace under way.
pub(crate) struct TraceBuilder(Vec<u8>);

impl TraceBuilder {
    /// A process that ended in an orderly way, with all symbols copied.
    pub(crate) fn new(command: &str, pid: u64, end: u64) -> TraceBuilder {
        let mut b = MAGIC.to_vec();
        b.extend_from_slice(&1u16.to_le_bytes());
        b.extend_from_slice(&0u16.to_le_bytes());
        b.extend_from_slice(&(CHUNK as u32).to_le_bytes());
        b.extend_from_slice(&1_795_269_713_000_000_000u64.to_le_bytes());
        b.extend_from_slice(&pid.to_le_bytes());
        b.extend_from_slice(&0u32.to_le_bytes());
        b.extend_from_slice(&3u32.to_le_bytes());
        b.extend_from_slice(&(1u64 << 30).to_le_bytes());
        b.extend_from_slice(&[0; 24]);
        b.extend_from_slice(&end.to_le_bytes());
        b.extend_from_slice(&(command.len() as u32).to_le_bytes());
        b.extend_from_slice(command.as_bytes());
        b.resize(CHUNK, 0);
        TraceBuilder(b)
    }

    /// Overwrites the counts of lost records and of overwritten chunks.
    pub(crate) fn lost(mut self, records: u64, chunks: u64) -> TraceBuilder {
        self.0[48..56].copy_from_slice(&records.to_le_bytes());
        self.0[56..64].copy_from_slice(&chunks.to_le_bytes());
        self
    }

    /// When it began: so many nanoseconds later than others.
    pub(crate) fn later(mut self, ns: u64) -> TraceBuilder {
        let origin = u64::from_le_bytes(self.0[16..24].try_into().unwrap());
        self.0[16..24].copy_from_slice(&(origin + ns).to_le_bytes());
        self
    }

    /// As a kill leaves it: no flags, no end.
    pub(crate) fn killed(mut self) -> TraceBuilder {
        self.0[36..40].fill(0);
        self.0[72..80].fill(0);
        self
    }

    pub(crate) fn push(mut self, chunk: Chunk) -> TraceBuilder {
        let serial = (self.0.len() / CHUNK) as u64;
        let mut bytes = chunk.bytes();
        bytes[8..16].copy_from_slice(&serial.to_le_bytes());
        self.0.extend_from_slice(&bytes);
        self
    }

    pub(crate) fn raw(mut self, chunk: &[u8]) -> TraceBuilder {
        self.0.extend_from_slice(chunk);
        self
    }

    /// A symbols map in parts of so many bytes; the parts whose numbers are listed are left out.
    pub(crate) fn symbols(mut self, map: &[u8], part: usize, without: &[u32]) -> TraceBuilder {
        for (number, bytes) in (0..).zip(map.chunks(part)) {
            if without.contains(&number) {
                continue;
            }
            let start = (map.len() as u64) << 32 | bytes.len() as u64;
            let mut chunk = Chunk::new(2, 0, number, start).bytes();
            chunk[CHUNK_HEADER..CHUNK_HEADER + bytes.len()].copy_from_slice(bytes);
            self = self.raw(&chunk);
        }
        self
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A small map: `main` 1, `place` 2, `take` 3, `fib` 4, `<init>` 5, and a bridge pair 6, 7.
pub(crate) fn shop_symbols() -> Vec<u8> {
    let mut w = symbols::Writer::default();
    w.artifact("shop.jar");
    w.ty("com/acme/Main", "Main.java");
    w.method(1, "main", "([Ljava/lang/String;)V", 10);
    w.ty("com/acme/Orders", "Orders.java");
    w.method(2, "place", "(ILjava/lang/String;)V", 20);
    w.ty("com/acme/Stock", "Stock.java");
    w.method(3, "take", "(I)I", 30);
    w.ty("com/acme/Maths", "Maths.java");
    w.method(4, "fib", "(I)J", 40);
    w.ty("com/acme/Orders$Order", "Orders.java");
    w.method(5, "<init>", "(Ljava/util/Map;)V", 50);
    w.method(6, "compareTo", "(Lcom/acme/Orders$Order;)I", 60);
    w.method(7, "compareTo", "(Lcom/other/Orders$Order;)I", 70);
    w.finish()
}

/// A map of whose `place` and `take` one of 100 calls is recorded, and of `fib` ten a second.
pub(crate) fn sampled_symbols() -> Vec<u8> {
    let by = |name: &str, sample| -> Switches {
        let (name, level) = (name.into(), Level::Info);
        [Arc::new(Switch {
            name,
            level,
            auto: None,
            overhead: None,
            sample: Some(sample),
        })]
        .into()
    };
    let (orders, maths) = (
        by("orders", Sampling::OneOf(100)),
        by("maths", Sampling::Second(10)),
    );
    let mut w = symbols::Writer::default();
    w.append_map(&shop_symbols());
    w.switched(2, &orders);
    w.switched(3, &orders);
    w.switched(4, &maths);
    w.finish()
}

/// A call that is not sampled makes 200 orders and 7 calls of `fib`, of which two and one are recorded.
pub(crate) fn sampled() -> TraceBuilder {
    let chunk = Chunk::records(1, 0, 0)
        .thread(1, 0, "main")
        .enter(0, 1)
        .sampled(2, 100)
        .enter(10, 2)
        .enter(5, 3)
        .exit(20, 3)
        .enter(5, 5)
        .exit(10, 5)
        .exit(10, 2)
        .sampled(2, 100)
        .enter(40, 2)
        .exception("java.lang.IllegalStateException", "out of stock")
        .error(30, 2)
        .sampled(4, 7)
        .enter(10, 4)
        .enter(10, 4)
        .exit(10, 4)
        .exit(10, 4)
        .exit(19_830, 1);
    TraceBuilder::new("java -jar shop.jar", 4711, 20_000)
        .symbols(&sampled_symbols(), 65_504, &[])
        .push(chunk)
}

/// A map whose `place` records `arg(1)`, and `take` the name `item` and its result.
pub(crate) fn valued_symbols() -> Vec<u8> {
    let mut w = symbols::Writer::default();
    w.append_map(&shop_symbols());
    w.values(2, &["arg(1)"]);
    w.values(3, &["item", "result"]);
    w.finish()
}

/// Orders of three things, with values of all kinds and of none, and a call that fails.
pub(crate) fn valued() -> TraceBuilder {
    const MS: u64 = 1_000_000;
    let mut chunk = Chunk::records(1, 0, MS).thread(1, 0, "main").enter(0, 1);
    for (number, item) in (1..).zip(["tea", "coffee", "tea", "milk\n=1+1"]) {
        chunk = chunk
            .text_value(
                2,
                0,
                false,
                &format!("SELECT {item} FROM orders WHERE id = {number}"),
            )
            .enter(1_000, 2)
            .text_value(3, 0, false, item)
            .enter(1_000, 3);
        chunk = match number {
            4 => chunk
                .value_of_text(3, 1, 10 | 4 << 8, "toString threw")
                .exception("java.lang.IllegalStateException", "out of stock: 7")
                .error(MS, 3)
                .error(1_000, 2),
            _ => chunk
                .value(3, 1, true, 2, 10 * number)
                .exit(number * MS, 3)
                .exit(1_000, 2),
        };
    }
    // No values: they found no room.
    let chunk = chunk.enter(MS, 3).exit(MS, 3).exit(MS, 1);
    TraceBuilder::new("java -jar shop.jar", 4711, 20 * MS)
        .symbols(&valued_symbols(), 65_504, &[])
        .push(chunk)
}

/// A server's span, one of a client on another thread, what an aspect of `entry` gives, and calls of one's own.
pub(crate) fn requests() -> TraceBuilder {
    const FLAG_ENTRY: u64 = 8;
    let rule = |kind, name: &str, once: &str, error: &str, when: &str| SpanRule {
        kind,
        name: name.into(),
        once: once.into(),
        error: error.into(),
        when: when.into(),
        scope: "pack:web".into(),
    };
    let mut w = symbols::Writer::default();
    w.artifact("shop.jar");
    w.ty("web.Server", "Server.java");
    w.method(1, "service", "()V", 1);
    w.values(1, &["http.request.method", "http.response.status_code"]);
    w.root(1);
    let name = "{http.request.method} {http.route}";
    let failed = "http.response.status_code >= 500";
    w.span(1, &rule(Kind::Server, name, "", failed, ""));
    w.method(2, "route", "()V", 2);
    w.values(2, &["http.route"]);
    w.method(3, "handle", "()V", 3);
    w.ty("db.Driver", "Driver.java");
    w.method(4, "query", "()V", 1);
    w.values(4, &["sql"]);
    w.root(4);
    w.span(4, &rule(Kind::Client, "{sql}", "db", "", "sql != 'ping'"));
    let thread_1 = Chunk::records(1, 0, 0)
        .text_value(1, 0, false, "GET")
        .span(1, 0xaaaa, 11, 7, 0x103)
        .enter(10, 1)
        // Said again, as where a chunk begins: it ends with the span.
        .context(0xaaaa, 11)
        // The entry span gets it; of two the first stays.
        .value_of_text(2, 0, 8 | FLAG_ENTRY << 8, "/orders/{id}")
        .value_of_text(2, 0, 8 | FLAG_ENTRY << 8, "/late")
        .enter(10, 3)
        .text_value(4, 0, false, "SELECT 1")
        .span(4, 0xaaaa, 12, 11, 3)
        .enter(5, 4)
        .enter(5, 4)
        .exit(5, 4)
        .exit(5, 4)
        .text_value(4, 0, false, "ping")
        .span(4, 0xaaaa, 13, 11, 3)
        .enter(5, 4)
        .exit(5, 4)
        .exit(1_000, 3)
        .value(1, 1, true, 2, 503)
        .exit(1_000, 1)
        // Nobody asked for this.
        .enter(5, 3)
        .exit(5_000, 3);
    let thread_2 = Chunk::records(2, 0, 100)
        .context(0xaaaa, 11)
        .text_value(4, 0, false, "SELECT 2")
        .span(4, 0xaaaa, 14, 11, 3)
        .enter(10, 4)
        .exit(10, 4)
        .enter(10, 3)
        .context(0xaaaa, 11)
        .text_value(4, 0, false, "SELECT 3")
        .span(4, 0xaaaa, 15, 11, 3)
        .enter(10, 4)
        .exit(2_000, 4)
        .exit(10, 3)
        .context(0, 0)
        .enter(10, 3)
        .exit(10, 3);
    TraceBuilder::new("java -jar shop.jar", 1, 10_000)
        .symbols(&w.finish(), 65_504, &[])
        .push(thread_1)
        .push(thread_2)
}

/// Two requests that go on behind their methods, and end on another thread: the first thread's records, which begin at `first`,
/// are read before the other's, or behind them.
pub(crate) fn staying(first: u64) -> TraceBuilder {
    let mut w = symbols::Writer::default();
    w.artifact("shop.jar");
    w.ty("web.Server", "Server.java");
    w.method(1, "service", "()V", 1);
    w.values(1, &["http.request.method", "http.response.status_code"]);
    w.root(1);
    let rule = SpanRule {
        kind: Kind::Server,
        name: "{http.request.method} {http.route}".into(),
        error: "http.response.status_code >= 500".into(),
        ..SpanRule::default()
    };
    w.span(1, &rule);
    w.method(2, "query", "()V", 2);
    w.root(2);
    w.method(3, "route", "()V", 3);
    w.values(3, &["http.route"]);
    w.span(
        2,
        &SpanRule {
            kind: Kind::Client,
            ..SpanRule::default()
        },
    );
    let begins = Chunk::records(1, 0, first)
        .text_value(1, 0, false, "GET")
        .span(1, 0xaaaa, 11, 7, 0x103)
        .enter(0, 1)
        .stays(1, 11)
        .exit(100, 1)
        .text_value(1, 0, false, "PUT")
        .span(1, 0xbbbb, 21, 0, 3)
        .enter(100, 1)
        .stays(1, 21)
        .exit(100, 1);
    let ends = Chunk::records(2, 0, 200)
        .context(0xaaaa, 11)
        .span(2, 0xaaaa, 12, 11, 3)
        .enter(300, 2)
        .exit(100, 2)
        .value_of_text(3, 0, 8 | 8 << 8, "/orders")
        .value(1, 1, true, 2, 201)
        .complete(1, 11, 700, false)
        .context(0xbbbb, 21)
        .exception("java.io.IOException", "gone")
        .complete(1, 21, 900, true)
        .context(0, 0);
    TraceBuilder::new("java -jar shop.jar", 1, 10_000)
        .symbols(&w.finish(), 65_504, &[])
        .push(begins)
        .push(ends)
}

/// A small program: recursion, exceptions that are caught and that leave the thread, a shared
/// chunk of two virtual threads, a call that runs on at the end.
pub(crate) fn shop() -> TraceBuilder {
    const MS: u64 = 1_000_000;
    TraceBuilder::new("java -jar shop.jar --orders 3", 4711, 120 * MS)
        .symbols(&shop_symbols(), 40, &[])
        .push(
            Chunk::records(1, 0, MS)
                .thread(1, 0, "main")
                .enter(0, 1)
                .enter(MS, 2)
                .enter(500, 5)
                .exit(1_500, 5)
                .enter(2 * MS, 3)
                .exit(3 * MS, 3)
                .exit(MS, 2)
                .enter(MS, 2)
                .enter(10, 3)
                .exception("java.lang.IllegalStateException", "out of stock: 7")
                .error(40_000, 3)
                .error(20_000, 2)
                .enter(MS, 4)
                .enter(MS, 4)
                .enter(MS, 4)
                .exit(5 * MS, 4)
                .enter(MS, 4)
                .exit(2 * MS, 4)
                .exit(MS, 4)
                .exit(MS, 4),
        )
        .push(
            Chunk::records(2, 0, 5 * MS)
                .thread(2, 1, "worker-1")
                .enter(0, 2)
                .segment(3, 0, 6 * MS)
                .thread(3, 3, "worker-2")
                .enter(0, 2)
                .enter(MS, 3)
                .exception("java.io.IOException", "disk\nfull")
                .error(2 * MS, 3)
                .error(1_000, 2)
                .segment(2, 1, 11 * MS)
                .enter(0, 6)
                .exit(250, 6)
                .enter(100, 7)
                .exit(300, 7)
                .exit(2 * MS, 2),
        )
}

/// Two seconds of a process beside the calls of [`shop`].
pub(crate) fn shop_with_samples() -> TraceBuilder {
    let second = 1_000_000_000;
    let at = |n: u64| {
        let values = [
            (1, n * 850_000_000),
            (2, 50_000_000 + n * 1_234_567),
            (5, n * n),
            (6, n * 12_345_678),
            (7, 10 + n),
            (10, n * 77_000_000),
        ];
        (n * second, values)
    };
    let flags = THREAD_DAEMON | THREAD_OWN;
    let chunk = Chunk::records(99, 0, 0).thread(99, flags, "weave-process");
    let chunk = (1..=3)
        .map(at)
        .fold(chunk, |c, (time, values)| c.sample(time, &values));
    shop().push(chunk)
}
