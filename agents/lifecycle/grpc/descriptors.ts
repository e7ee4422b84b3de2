import { numberOf, partsOf, readFields, textOf, type WireField } from './protobuf.ts'

/** A name as a descriptor has it: full after a dot, else to be looked for from a scope outwards. */
export interface TypeName {
  readonly name: string
  readonly scope: string
}

/** A field of a message. */
export interface FieldType {
  readonly name: string
  readonly jsonName: string
  readonly number: number
  /** The number that descriptor.proto has for it: 9 is a text. */
  readonly type: number
  /** Of an enumeration or a message. */
  readonly typeName: TypeName
}

export interface MethodType {
  readonly input: TypeName
  readonly output: TypeName
  /** Whether one side sends more than one message. */
  readonly isStreaming: boolean
}

/** What a server says of its services, by full names. */
export interface Descriptors {
  readonly messages: Map<string, readonly FieldType[]>
  /** Names of those of which a map is a list: they hold a key and its value. */
  readonly mapEntries: Set<string>
  readonly enums: Map<string, ReadonlyMap<string, number>>
  /** By `<service>/<method>`. */
  readonly methods: Map<string, MethodType>
}

export function noDescriptors(): Descriptors {
  return { messages: new Map(), mapEntries: new Set(), enums: new Map(), methods: new Map() }
}

/** Adds what a file declares: a FileDescriptorProto of descriptor.proto. Throws for what is none. */
export function addFile(known: Descriptors, file: Buffer): void {
  const fields = readFields(file)
  const scope = textOf(fields, 2)
  for (const message of partsOf(fields, 4)) addMessage(known, scope, readFields(message))
  for (const enumeration of partsOf(fields, 5)) addEnum(known, scope, readFields(enumeration))
  for (const service of partsOf(fields, 6)) addService(known, scope, readFields(service))
}

function addMessage(known: Descriptors, scope: string, message: readonly WireField[]): void {
  const name = within(scope, textOf(message, 1))
  known.messages.set(
    name,
    partsOf(message, 2).map((field) => fieldType(name, field)),
  )
  // MessageOptions: map_entry.
  if (partsOf(message, 7).some((options) => numberOf(readFields(options), 7) !== 0)) known.mapEntries.add(name)
  for (const nested of partsOf(message, 3)) addMessage(known, name, readFields(nested))
  for (const enumeration of partsOf(message, 4)) addEnum(known, name, readFields(enumeration))
}

function fieldType(scope: string, field: Buffer): FieldType {
  const fields = readFields(field)
  return {
    name: textOf(fields, 1),
    jsonName: textOf(fields, 10) || camelCase(textOf(fields, 1)),
    number: numberOf(fields, 3),
    type: numberOf(fields, 5),
    typeName: { name: textOf(fields, 6), scope },
  }
}

/** The name in JSON, where the descriptor says none. */
function camelCase(name: string): string {
  return name.replace(/_(.?)/g, (_, letter: string) => letter.toUpperCase())
}

function addEnum(known: Descriptors, scope: string, enumeration: readonly WireField[]): void {
  const values = partsOf(enumeration, 2).map((value): [string, number] => {
    const fields = readFields(value)
    return [textOf(fields, 1), numberOf(fields, 2)]
  })
  known.enums.set(within(scope, textOf(enumeration, 1)), new Map(values))
}

function addService(known: Descriptors, scope: string, service: readonly WireField[]): void {
  const name = within(scope, textOf(service, 1))
  for (const method of partsOf(service, 2)) {
    const fields = readFields(method)
    known.methods.set(`${name}/${textOf(fields, 1)}`, {
      input: { name: textOf(fields, 2), scope: name },
      output: { name: textOf(fields, 3), scope: name },
      isStreaming: numberOf(fields, 5) !== 0 || numberOf(fields, 6) !== 0,
    })
  }
}

function within(scope: string, name: string): string {
  return scope === '' ? name : `${scope}.${name}`
}

/**
 * The full name that a name means, by the types that are known: of a relative name the nearest scope decides. Undefined
 * where none is known.
 */
export function fullName({ messages, enums }: Descriptors, { name, scope }: TypeName): string | undefined {
  const candidates = name.startsWith('.') ? [name.slice(1)] : scopesOf(scope).map((outer) => within(outer, name))
  return candidates.find((candidate) => messages.has(candidate) || enums.has(candidate))
}

/** `a.b`, `a` and the empty scope, for `a.b`. */
function scopesOf(scope: string): readonly string[] {
  const parts = scope === '' ? [] : scope.split('.')
  return [...parts.map((_, at) => parts.slice(0, parts.length - at).join('.')), '']
}
