// The npm packages ai and @ai-sdk/openai-compatible against the same daemon.
import assert from 'node:assert/strict';
import { test, describe } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, streamText, isStepCount, Output, tool } from 'ai';
import { z } from 'zod';

const weir = createOpenAICompatible({
  name: 'weir', baseURL: process.env.WEIR_URL + '/v1', apiKey: process.env.WEIR_TOKEN, includeUsage: true, supportsStructuredOutputs: true,
});

const tools = {
  get_weather: tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, sky: 'rain' }),
  }),
};

for (const name of ['text', 'native']) {
  const model = weir(name);
  describe(name, () => {
    test('an answer, whole and streamed', async () => {
      const whole = await generateText({ model, prompt: 'Hi', temperature: 0, maxOutputTokens: 50 });
      assert.equal(whole.text, 'Hello from the far side of the weir.');
      assert.equal(whole.finishReason, 'stop');
      assert.equal(whole.usage.totalTokens, 19);
      const streamed = streamText({ model, prompt: 'Hi' });
      let text = '';
      for await (const piece of streamed.textStream) text += piece;
      assert.equal(text, 'Hello from the far side of the weir.');
      assert.equal((await streamed.usage).totalTokens, 19);
    });

    test("the caller's tools in steps, whole and streamed", async () => {
      const ask = { model, tools, stopWhen: isStepCount(4), prompt: 'the weather in Oslo and Bergen' };
      const want = 'The tools say: {"city":"Oslo","sky":"rain"}; {"city":"Bergen","sky":"rain"}';
      const whole = await generateText(ask);
      assert.equal(whole.text, want);
      assert.deepEqual(whole.steps.map((s) => s.finishReason), ['tool-calls', 'stop']);
      assert.deepEqual(whole.steps[0].toolCalls.map((c) => c.input), [{ city: 'Oslo' }, { city: 'Bergen' }]);
      const streamed = streamText(ask);
      await streamed.consumeStream();
      assert.equal(await streamed.text, want);
    });

    test("a stream of steps tells each call, its result and the tokens of all", async () => {
      const streamed = streamText({ model, tools, stopWhen: isStepCount(4), prompt: 'the weather in Oslo and Bergen' });
      const seen = [];
      for await (const part of streamed.fullStream) if (part.type === 'tool-call' || part.type === 'tool-result') seen.push(`${part.type} ${part.input.city}`);
      assert.deepEqual(seen.sort(), ['tool-call Bergen', 'tool-call Oslo', 'tool-result Bergen', 'tool-result Oslo']);
      assert.ok((await streamed.totalUsage).totalTokens >= 25);
      assert.equal(await streamed.finishReason, 'stop');
    });

    test('a tool that must be called', async () => {
      const r = await generateText({ model, tools, toolChoice: { type: 'tool', toolName: 'get_weather' }, prompt: 'the weather in Lima' });
      assert.deepEqual(r.toolCalls.map((c) => c.input), [{ city: 'Lima' }]);
    });

    test('an answer that is an object', async () => {
      const r = await generateText({ model, output: Output.object({ schema: z.object({ name: z.string(), age: z.number() }) }), prompt: 'a person' });
      assert.deepEqual(r.output, { name: 'Ada', age: 36 });
    });

    test('aborting ends the model', async () => {
      const stop = new AbortController();
      const streamed = streamText({ model, prompt: 'for ever', abortSignal: stop.signal, onError: () => {} });
      let pieces = 0;
      for await (const part of streamed.fullStream) if (part.type === 'text-delta' && ++pieces === 3) stop.abort();
      assert.ok(pieces >= 3);
      await fetch(process.env.WEIR_CONTROL + '/began');
      await fetch(process.env.WEIR_CONTROL + '/ended');
    });
  });
}

test('a talk of several turns with tools stays one conversation', async () => {
  const model = weir('native');
  const messages = [{ role: 'user', content: 'the weather in Oslo' }];
  const first = await generateText({ model, tools, stopWhen: isStepCount(4), messages });
  messages.push(...first.response.messages, { role: 'user', content: 'how many' });
  const second = await generateText({ model, tools, messages });
  assert.equal(second.text, 'You have asked 2 times.');
  const [a, b] = [first, second].map((r) => r.response.headers['x-weir-conversation']);
  assert.ok(a);
  assert.equal(a, b);
});

test('errors are told', async () => {
  await assert.rejects(generateText({ model: weir('nobody'), prompt: 'Hi' }), (e) => APICallError.isInstance(e) && e.statusCode === 404 && /no model named/.test(e.message));
  const errors = [];
  const broken = streamText({ model: weir('text'), prompt: 'break', onError: ({ error }) => errors.push(error) });
  let text = '';
  for await (const part of broken.fullStream) if (part.type === 'text-delta') text += part.text;
  assert.equal(text, 'Half an ans');
  assert.equal(errors.length, 1);
});
