import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { narrowed, type SchemaNode } from '#test/support/narrowed.ts'
import { customResourceDefinition } from './custom-resource-definition.ts'

const copy = new URL('../../../test/support/definition-before.yaml', import.meta.url)

/** The schema of a definition's only version, as JSON has it. */
function schemaIn(definition: unknown): SchemaNode {
  const { spec } = JSON.parse(JSON.stringify(definition)) as {
    readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: SchemaNode } }[] }
  }
  return spec.versions[0]?.schema.openAPIV3Schema ?? {}
}

describe('While an upgrade rolls', () => {
  it('the definition takes whatever managers and manifests of the version before write: a field stays for one version, deprecated', async () => {
    const before = schemaIn(parse(await readFile(copy, 'utf8')))
    expect(narrowed(before, schemaIn(customResourceDefinition()))).toEqual([])
  })

  const text = { type: 'string' }
  const object = (properties: Readonly<Record<string, SchemaNode>>, required?: readonly string[]): SchemaNode => ({
    type: 'object',
    properties,
    ...(required && { required }),
  })
  const rule = { rule: 'self > 0', message: 'more' }
  it.each<[what: string, before: SchemaNode, now: SchemaNode, found: readonly string[]]>([
    ['a field that is gone', object({ a: text }), object({}), ['.a is gone']],
    ['one of the objects in a list', { items: object({ a: text }) }, { items: object({}) }, ['[].a is gone']],
    ['the values of a map', { additionalProperties: text }, {}, ['.* is gone']],
    ['a field that is required from now on', object({ a: text }), object({ a: text }, ['a']), [': a is required']],
    ['another type', object({ a: text }), object({ a: { type: 'integer' } }), ['.a: type']],
    ['fewer words', { enum: ['x', 'y'] }, { enum: ['x'] }, [': enum']],
    ['words where anything was taken', text, { ...text, enum: ['x'] }, [': enum']],
    ['a bound', { maximum: 9, minimum: 1 }, { maximum: 8, minLength: 1, minimum: 1 }, [': minLength', ': maximum']],
    ['a pattern', text, { ...text, pattern: '^x' }, [': pattern']],
    ['no null any more', { ...text, nullable: true }, text, [': nullable']],
    ['a rule', {}, { 'x-kubernetes-validations': [rule] }, [': a new rule "self > 0"']],
    [
      'more than before is no narrowing',
      { ...object({ a: { ...text, enum: ['x'], maxLength: 1 } }, ['a']), 'x-kubernetes-validations': [rule] },
      {
        ...object({ a: { ...text, enum: ['x', 'y'] }, b: text }),
        'x-kubernetes-validations': [{ ...rule, message: 'a' }],
      },
      [],
    ],
  ])('what is narrower is named: %s', (_, before, now, found) => {
    expect(narrowed(before, now)).toEqual(found)
  })
})
