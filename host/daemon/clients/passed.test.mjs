// The npm package openai with a loop of its own: its requests are passed through to the model
// "own", whose server answers with what it was sent, or does what the last message says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.env.WEIR_URL + '/v1', apiKey: process.env.WEIR_TOKEN, maxRetries: 2 });
const bash = { type: 'function', function: { name: 'bash', description: 'Runs.\n\n- a', strict: true, parameters: { type: 'object', properties: { path: { type: 'string' } } } } };
const ask = (content, more = {}) => ({ model: 'own', messages: [{ role: 'user', content }], tools: [bash], ...more });

test('the list names what is passed through, and the window', async () => {
  const own = await client.models.retrieve('own');
  assert.deepEqual([own.profile, own.context_length], [false, 32768]);
});

test('what is sent arrives', async () => {
  const sent = ask([{ type: 'text', text: 'Look' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }], {
    top_k: 3, chat_template_kwargs: { enable_thinking: false }, metadata: { a: 'b' }, store: true, seed: 7, unheard_of: [1, { a: null }],
  });
  sent.messages.unshift({ role: 'assistant', content: null, reasoning_content: 'Hm.', tool_calls: [{ id: 'c', type: 'function', function: { name: 'bash', arguments: '{"pa' } }] }, { role: 'tool', tool_call_id: 'c', content: 'ok' });
  const whole = await client.chat.completions.create(sent);
  assert.deepEqual(JSON.parse(whole.choices[0].message.content), { ...sent, model: 'up-1' });
  assert.equal(whole.model, 'own');
  let text = '';
  for await (const c of await client.chat.completions.create({ ...sent, stream: true })) text += c.choices[0]?.delta.content ?? '';
  assert.deepEqual(JSON.parse(text), { ...sent, model: 'up-1', stream: true, stream_options: { include_usage: true } });
});

test('calls come as the model writes them', async () => {
  const calls = [];
  let pieces = 0;
  for await (const chunk of await client.chat.completions.create(ask('call', { stream: true }))) {
    for (const c of chunk.choices[0].delta.tool_calls ?? []) {
      calls[c.index] ??= { id: c.id, name: c.function.name, arguments: '' };
      calls[c.index].arguments += c.function.arguments;
      pieces++;
    }
  }
  assert.deepEqual(calls, [{ id: 'c0', name: 'read', arguments: '{"path":"x"}' }, { id: 'c1', name: 'bash', arguments: '{"path":"x"}' }]);
  assert.equal(pieces, 8);
});

test('an answer that breaks off throws, and the same request again is answered', async () => {
  const read = async () => {
    let text = '';
    for await (const c of await client.chat.completions.create(ask('break', { stream: true }))) text += c.choices[0]?.delta.content ?? '';
    return text;
  };
  await assert.rejects(read(), (e) => !(e instanceof OpenAI.APIError)); // of the connection, not an error that was said
  assert.equal(JSON.parse(await read()).model, 'up-1');
});

test('refusals: once, with a status that stops the client, or a wait that it keeps', async () => {
  await assert.rejects(client.chat.completions.create(ask('wrong key')), (e) => e instanceof OpenAI.BadRequestError && e.code === 'model_auth');
  await assert.rejects(client.chat.completions.create(ask('too long')), (e) => e instanceof OpenAI.BadRequestError && e.code === 'context_length_exceeded');
  const after = await client.chat.completions.create(ask('busy'));
  assert.equal(JSON.parse(after.choices[0].message.content).model, 'up-1');
});
