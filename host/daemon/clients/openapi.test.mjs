// openapi.json is OpenAPI, by somebody else's word.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';

test('openapi.json is valid', async () => {
  const response = await fetch(process.env.WEIR_URL + '/openapi.json'); // without a token
  assert.equal(response.status, 200);
  const document = await response.json();
  const validator = new Validator();
  const result = await validator.validate(document);
  assert.ok(result.valid, JSON.stringify(result.errors, null, 1));
  assert.equal(validator.version, '3.1');
  validator.resolveRefs();
  assert.ok(Object.keys(document.paths).length > 25);
});
