// The npm package openai against a daemon with a scripted model: "text" is
// called by text, "native" by the provider's own tool calling.
import assert from 'node:assert/strict';
import { test, describe } from 'node:test';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

const baseURL = process.env.WEIR_URL + '/v1';
const client = new OpenAI({ baseURL, apiKey: process.env.WEIR_TOKEN });

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

// Both wait for a model that speaks for ever: until it has, and until it was stopped.
const began = () => fetch(process.env.WEIR_CONTROL + '/began');
const ended = () => fetch(process.env.WEIR_CONTROL + '/ended');

// gather puts a stream together as its reader would.
async function gather(stream) {
  let text = '', finish = null, usage = null;
  const calls = [];
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    const choice = chunk.choices[0];
    if (!choice) continue;
    text += choice.delta.content ?? '';
    finish = choice.finish_reason ?? finish;
    for (const c of choice.delta.tool_calls ?? []) {
      calls[c.index] ??= { id: c.id, type: 'function', function: { name: c.function.name, arguments: '' } };
      calls[c.index].function.arguments += c.function.arguments;
    }
  }
  return { text, finish, usage, calls };
}

test('the models are listed', async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.deepEqual(ids, ['weir', 'native', 'text', 'model:native', 'own', 'model:text']);
  assert.equal((await client.models.retrieve('native')).id, 'native');
});

for (const model of ['text', 'native']) {
  describe(model, () => {
    test('an answer, whole and streamed', async () => {
      const messages = [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
      const whole = await client.chat.completions.create({ model, messages, temperature: 0.3, max_completion_tokens: 100, stop: ['\n\n'] });
      assert.equal(whole.choices[0].message.content, 'Hello from the far side of the weir.');
      assert.equal(whole.choices[0].finish_reason, 'stop');
      assert.deepEqual([whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens], [10, 9, 19]);
      const streamed = await gather(await client.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } }));
      assert.equal(streamed.text, 'Hello from the far side of the weir.');
      assert.equal(streamed.finish, 'stop');
      assert.equal(streamed.usage.total_tokens, 19);
    });

    for (const stream of [false, true]) {
      test(`two tools of the caller's, ${stream ? 'streamed' : 'whole'}`, async () => {
        const messages = [{ role: 'user', content: 'the weather in Oslo and Bergen' }];
        const ask = async () => {
          const r = await client.chat.completions.create({ model, messages, tools: [weather], stream });
          if (stream) return gather(r);
          const { message, finish_reason } = r.choices[0];
          return { text: message.content, finish: finish_reason, calls: message.tool_calls ?? [] };
        };
        const first = await ask();
        assert.equal(first.finish, 'tool_calls');
        assert.deepEqual(first.calls.map((c) => [c.function.name, c.function.arguments]), [
          ['get_weather', '{"city":"Oslo"}'], ['get_weather', '{"city":"Bergen"}'],
        ]);
        messages.push({ role: 'assistant', content: first.text, tool_calls: first.calls });
        for (const c of first.calls) messages.push({ role: 'tool', tool_call_id: c.id, content: `rain in ${JSON.parse(c.function.arguments).city}` });
        const second = await ask();
        assert.equal(second.finish, 'stop');
        assert.equal(second.text, 'The tools say: rain in Oslo; rain in Bergen');
      });
    }

    test("the tokens of a stream with the caller's tools", async () => {
      const ask = { model, messages: [{ role: 'user', content: 'the weather in Oslo and Bergen' }], tools: [weather], stream: true };
      const told = await gather(await client.chat.completions.create({ ...ask, stream_options: { include_usage: true } }));
      assert.equal(told.calls.length, 2);
      assert.equal(told.finish, 'tool_calls');
      assert.equal(told.usage.total_tokens, told.usage.prompt_tokens + told.usage.completion_tokens);
      assert.equal((await gather(await client.chat.completions.create(ask))).usage, null);
    });

    test('one call at a time, a call that must be made, and none', async () => {
      const ask = { model, messages: [{ role: 'user', content: 'the weather in Oslo and Bergen' }], tools: [weather] };
      const called = async (more) => ((await client.chat.completions.create({ ...ask, ...more })).choices[0].message.tool_calls ?? []).map((c) => c.function.arguments);
      assert.deepEqual(await called({ parallel_tool_calls: false }), ['{"city":"Oslo"}']);
      assert.deepEqual(await called({ tool_choice: 'required' }), ['{"city":"Oslo"}', '{"city":"Bergen"}']);
      assert.deepEqual(await called({ tool_choice: 'none' }), []);
    });

    test('the package runs the tools itself', async () => {
      const runner = client.chat.completions.runTools({
        model, messages: [{ role: 'user', content: 'the weather in Lima' }],
        tools: [{ type: 'function', function: { ...weather.function, parse: JSON.parse, function: ({ city }) => `sun in ${city}` } }],
      });
      assert.equal(await runner.finalContent(), 'The tools say: sun in Lima');
    });

    test('the package runs the tools of a stream', async () => {
      const runner = client.chat.completions.runTools({
        model, stream: true, messages: [{ role: 'user', content: 'the weather in Quito and Lima' }],
        tools: [{ type: 'function', function: { ...weather.function, parse: JSON.parse, function: ({ city }) => `sun in ${city}` } }],
      });
      assert.equal(await runner.finalContent(), 'The tools say: sun in Quito; sun in Lima');
    });

    test("weir's own tools run inside, and beside the caller's", async () => {
      const messages = [{ role: 'user', content: 'calculate it' }];
      const own = await client.chat.completions.create({ model, messages });
      assert.match(own.choices[0].message.content, /42/);
      assert.equal(own.weir.results[0].tool, 'calculator');
      const both = await client.chat.completions.create({ model, messages, tools: [weather], weir_tools: true });
      assert.match(both.choices[0].message.content, /42/);
    });

    test('an answer that is JSON', async () => {
      const person = z.object({ name: z.string(), age: z.number() });
      const r = await client.chat.completions.parse({ model, messages: [{ role: 'user', content: 'a person' }], response_format: zodResponseFormat(person, 'person') });
      assert.deepEqual(r.choices[0].message.parsed, { name: 'Ada', age: 36 });
    });

    test('aborting ends the model', async () => {
      const stream = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'for ever' }], stream: true });
      let pieces = 0;
      for await (const _ of stream) if (++pieces === 5) stream.controller.abort();
      await began();
      await ended();
      const whole = new AbortController();
      const asked = client.chat.completions.create({ model, messages: [{ role: 'user', content: 'for ever' }] }, { signal: whole.signal });
      began().then(() => whole.abort());
      await assert.rejects(asked, OpenAI.APIUserAbortError);
      await ended();
    });
  });
}

test('a conversation goes on without an id', async () => {
  const messages = [{ role: 'user', content: 'Hi, it is me' }];
  const first = await client.chat.completions.create({ model: 'weir', messages }).withResponse();
  messages.push(first.data.choices[0].message, { role: 'user', content: 'how many' });
  const second = await client.chat.completions.create({ model: 'weir', messages }).withResponse();
  assert.equal(second.data.choices[0].message.content, 'You have asked 2 times.');
  assert.equal(second.response.headers.get('x-weir-conversation'), first.response.headers.get('x-weir-conversation'));
  const named = await client.chat.completions.create({
    model: 'weir', messages: [{ role: 'user', content: 'how many' }], metadata: { conversation_id: first.data.weir.conversation_id },
  });
  assert.equal(named.choices[0].message.content, 'You have asked 3 times.');
});

test('errors have their classes', async () => {
  const ask = (body, options) => client.chat.completions.create({ model: 'weir', messages: [{ role: 'user', content: 'Hi' }], ...body }, options);
  await assert.rejects(new OpenAI({ baseURL, apiKey: 'wrong' }).models.list(), OpenAI.AuthenticationError);
  await assert.rejects(ask({ model: 'nobody' }), (e) => e instanceof OpenAI.NotFoundError && e.code === 'model_not_found' && e.param === 'model');
  await assert.rejects(ask({ n: 2 }), (e) => e instanceof OpenAI.BadRequestError && e.param === 'n' && e.type === 'invalid_request_error');
  for (const [param, body] of Object.entries({
    logprobs: { logprobs: true }, functions: { functions: [weather.function] }, modalities: { modalities: ['text', 'audio'] }, max_tokens: { max_tokens: 0 },
    'tools[0].type': { tools: [{ type: 'custom', custom: { name: 'x' } }] }, response_format: { response_format: { type: 'xml' } }, tool_choice: { tool_choice: 'perhaps', tools: [weather] },
  })) {
    await assert.rejects(ask(body), (e) => e instanceof OpenAI.BadRequestError && e.param === param && e.type === 'invalid_request_error' && typeof e.code === 'string', param);
  }
  await assert.rejects(client.responses.create({ model: 'weir', input: 'Hi' }), (e) => e instanceof OpenAI.NotFoundError && /chat\.completions/.test(e.message));
  await assert.rejects(client.embeddings.create({ model: 'weir', input: 'Hi' }), (e) => e instanceof OpenAI.NotFoundError && /embeddings/.test(e.message));
  await assert.rejects(
    new OpenAI({ baseURL: process.env.WEIR_URL, apiKey: process.env.WEIR_TOKEN }).chat.completions.create({ model: 'weir', messages: [{ role: 'user', content: 'Hi' }] }),
    (e) => e instanceof OpenAI.NotFoundError && /ends with \/v1/.test(e.message),
  );
  await assert.rejects(
    ask({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }] }),
    (e) => e instanceof OpenAI.BadRequestError && /text alone/.test(e.message),
  );
  await assert.rejects(ask({ tools: [weather], messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] }), OpenAI.BadRequestError);
  await assert.rejects(ask({ messages: [{ role: 'user', content: 'break' }] }, { maxRetries: 0 }), OpenAI.InternalServerError);
  await assert.rejects(ask({ messages: [{ role: 'user', content: 'busy' }] }, { maxRetries: 0 }), OpenAI.RateLimitError);
  await ask({ messages: [{ role: 'user', content: 'busy' }] }); // the other half of the pair
});

test('a stream that breaks is an error, not an end', async () => {
  const stream = await client.chat.completions.create({ model: 'weir', stream: true, messages: [{ role: 'user', content: 'break' }] });
  let text = '';
  await assert.rejects(async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  }, OpenAI.APIError);
  assert.equal(text, 'Half an ans');
});

test('what may be repeated is repeated', async () => {
  const r = await client.chat.completions.create({ model: 'weir', messages: [{ role: 'user', content: 'busy' }] });
  assert.match(r.choices[0].message.content, /Hello/);
});
