// The stream of an answer, and how it goes on when its connection breaks. What
// is asked of the daemon is asked by fetch's form, which the caller gives.

// waits are the milliseconds before each attempt to reconnect. A connection that
// delivers an event restarts them. Their sum is as long as the daemon keeps an
// answer without a reader.
const waits = [0, 500, 1000, 2000, 4000, 8000, 15000, 30000];

// events reads server-sent events from a body, each with the id it had.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", name = "", id = "", data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("id:")) id = line.slice(3).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      else if (line === "") {
        if (data.length) yield [name, JSON.parse(data.join("\n")), id];
        name = ""; data = [];
      }
    }
  }
}

// A Stream asks one question and reads its answer to the end.
class Stream {
  last = ""; // id of the event that was read last
  resumable = false;
  ending = false;
  wanted = new AbortController();

  // api sends a request to the daemon. It has the arguments of fetch and throws an
  // error, with a status if the daemon responded.
  constructor(api, sleep = pause) { Object.assign(this, { api, sleep }); }

  // join connects to the answer that is running in a conversation, as after a reload or
  // from a second tab. read then has no body and yields the events from the first one on.
  async join(conversation) {
    this.resumable = true;
    this.address = `api/chat?conversation_id=${encodeURIComponent(conversation)}`;
    this.joined = await this.#resume();
  }

  #resume() {
    if (!this.last) return this.api(this.address, { signal: this.wanted.signal });
    return this.api("api/chat", { signal: this.wanted.signal, headers: { "Last-Event-ID": this.last } });
  }

  // read yields the name and the data of every event, and two of its own: stream.lost
  // when the connection breaks, and stream.back when there is another. It ends after
  // chat.end, or earlier if the daemon cannot continue the stream.
  async* read(body) {
    let res = this.joined || await this.api("api/chat", { method: "POST", signal: this.wanted.signal, body: JSON.stringify({ ...body, resume: true }), headers: { "Content-Type": "application/json" } });
    for (let tries = 0; ;) {
      try {
        for await (const [name, data, id] of events(res.body)) {
          tries = 0;
          this.last = id;
          if (name === "chat.start") {
            this.resumable = data.resumable;
            if (this.ending) this.#end();
          }
          yield [name, data];
          if (name === "chat.end") return;
        }
      } catch (err) {
        if (this.wanted.signal.aborted || !this.resumable) throw err;
      }
      if (!this.resumable) return;
      yield ["stream.lost", {}];
      for (res = null; !res; tries++) {
        if (tries >= waits.length) return;
        await this.sleep(waits[tries], this.wanted.signal);
        try {
          res = await this.#resume();
        } catch (err) {
          if (this.wanted.signal.aborted || err.status) throw err;
        }
      }
      yield ["stream.back", {}];
    }
  }

  // end stops the turn as soon as its id is known; the daemon then ends the stream.
  // A second call closes the connection.
  end() {
    if (this.ending) return this.leave();
    this.ending = true;
    if (this.last) this.#end();
  }

  async #end() {
    if (!this.resumable) return this.leave();
    try {
      await this.api("api/chat", { method: "DELETE", keepalive: true, headers: { "Last-Event-ID": this.last } });
    } catch {
      this.leave();
    }
  }

  // leave reads no more.
  leave() { this.wanted.abort(); }
}

function pause(ms, signal) {
  return new Promise((done, fail) => {
    const stop = () => { clearTimeout(timer); fail(new DOMException("stopped", "AbortError")); };
    const timer = setTimeout(() => { signal.removeEventListener("abort", stop); done(); }, ms);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
}

export { events, Stream };
