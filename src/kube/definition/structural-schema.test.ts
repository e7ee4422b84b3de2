import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { customResourceDefinition } from './custom-resource-definition.ts'
import { structuralSchema, type StructuralSchema } from './structural-schema.ts'

describe('a structural schema', () => {
  const cases: Readonly<
    Record<string, readonly [said: Parameters<typeof structuralSchema>[0], structural: StructuralSchema]>
  > = {
    'says a choice of words as an enum': [
      Type.Union([Type.Literal('a'), Type.Literal('b')], { default: 'a', description: 'Which.' }),
      { type: 'string', enum: ['a', 'b'], default: 'a', description: 'Which.' },
    ],
    'says a single word as an enum of one': [Type.Literal('a'), { type: 'string', enum: ['a'] }],
    'says something or null as nullable, and no default of null': [
      Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { default: null }),
      { type: 'integer', minimum: 0, nullable: true },
    ],
    'says a record by its values': [
      Type.Record(Type.String(), Type.Integer(), { default: {} }),
      { type: 'object', default: {}, additionalProperties: { type: 'integer' } },
    ],
    'names what is required and has no default, which the API server would fill in first': [
      Type.Object(
        { size: Type.String(), class: Type.Optional(Type.String()), kind: Type.String({ default: 'x' }) },
        { additionalProperties: false },
      ),
      {
        type: 'object',
        required: ['size'],
        properties: { size: { type: 'string' }, class: { type: 'string' }, kind: { type: 'string', default: 'x' } },
      },
    ],
    'converts what is inside of lists': [
      Type.Array(Type.Union([Type.Literal(1), Type.Literal(2)])),
      { type: 'array', items: { type: 'integer', enum: [1, 2] } },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [said, structural]) => {
    expect(structuralSchema(said)).toEqual(structural)
  })

  it('cannot say a choice of several types, and says where', () => {
    expect(() => structuralSchema(Type.Object({ port: Type.Union([Type.Integer(), Type.String()]) }))).toThrow(
      'the schema of .port is a choice of several types',
    )
  })
})

interface Node {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly additionalProperties?: Node
}

function* nodesBelow(node: Node, path: string): Generator<readonly [path: string, node: Node]> {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    yield [`${path}.${name}`, child]
    yield* nodesBelow(child, `${path}.${name}`)
  }
  if (node.items) yield* nodesBelow(node.items, `${path}[]`)
}

describe('the definition of a MySQLCluster', () => {
  const version = customResourceDefinition().spec.versions[0]
  const schema = version?.schema.openAPIV3Schema as unknown as {
    readonly properties: { readonly spec: Node; readonly status: Node }
  }

  it('describes and types every field of spec and status', () => {
    const fields = [...nodesBelow(schema.properties.spec, 'spec'), ...nodesBelow(schema.properties.status, 'status')]
    expect(fields.length).toBeGreaterThan(80)
    expect(
      fields
        .filter(([, { type, description }]) => type === undefined || (description ?? '') === '')
        .map(([path]) => path),
    ).toEqual([])
  })

  it('needs nothing but a size of storage', () => {
    expect(schema.properties.spec).toMatchObject({
      required: ['storage'],
      properties: { storage: { required: ['size'] } },
    })
  })

  it('has columns that exist', () => {
    for (const { jsonPath } of version?.additionalPrinterColumns ?? []) {
      const [, part = '', name = ''] = /^\.(spec|status|metadata)\.([a-zA-Z]+)/.exec(jsonPath) ?? []
      if (part !== 'metadata')
        expect(Object.keys(schema.properties[part as 'spec' | 'status'].properties ?? {})).toContain(name)
    }
  })
})
