import { create, createFileRegistry, type FileRegistry } from '@bufbuild/protobuf'
import {
  EnumOptionsSchema,
  FeatureSet_EnumType,
  FeatureSetSchema,
  FieldDescriptorProto_Label,
  FileDescriptorSetSchema,
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt'

/** Types by their full names. The messages of which a map is a list hold a key and a value. */
type Declared = Map<string, { readonly isMapEntry: boolean }>

/**
 * What files declare, with the files that each imports. Types that a type names and no file declares are not known: a
 * server need not tell of what its methods do not use.
 */
export function registryOf(files: ReadonlyMap<string, FileDescriptorProto>): FileRegistry {
  const declared: Declared = new Map()
  for (const { package: scope, messageType, enumType } of files.values())
    declare(declared, scope, messageType, enumType)
  for (const file of files.values()) {
    file.extension = []
    for (const message of file.messageType) settleMessage(declared, file.package, message)
    for (const { name, method } of file.service)
      for (const one of method) {
        one.inputType = fullName(declared, within(file.package, name), one.inputType) ?? one.inputType
        one.outputType = fullName(declared, within(file.package, name), one.outputType) ?? one.outputType
      }
  }
  return createFileRegistry(create(FileDescriptorSetSchema, { file: inOrder(files) }))
}

function declare(
  declared: Declared,
  scope: string,
  messages: readonly DescriptorProto[],
  enums: readonly EnumDescriptorProto[],
): void {
  for (const enumeration of enums) {
    declared.set(within(scope, enumeration.name), { isMapEntry: false })
    // Also of an older syntax: a server may know numbers that its own description does not name.
    enumeration.options ??= create(EnumOptionsSchema)
    enumeration.options.features = create(FeatureSetSchema, { enumType: FeatureSet_EnumType.OPEN })
  }
  for (const { name, options, nestedType, enumType } of messages) {
    declared.set(within(scope, name), { isMapEntry: options?.mapEntry ?? false })
    declare(declared, within(scope, name), nestedType, enumType)
  }
}

/** Fields have the full names of their types; without a type that is known there is no such field. */
function settleMessage(declared: Declared, outer: string, message: DescriptorProto): void {
  const scope = within(outer, message.name)
  message.extension = []
  message.field = message.field.filter((field) => {
    if (field.typeName === '') return true
    const name = fullName(declared, scope, field.typeName)
    if (name === undefined) return false
    field.typeName = name
    if (declared.get(name)?.isMapEntry) field.label = FieldDescriptorProto_Label.REPEATED
    return true
  })
  for (const nested of message.nestedType) settleMessage(declared, scope, nested)
}

/** The full name of a type: what begins with a dot is one; else the nearest scope decides. */
function fullName(declared: Declared, scope: string, name: string): string | undefined {
  if (name.startsWith('.')) return declared.has(name.slice(1)) ? name.slice(1) : undefined
  const parts = scope.split('.')
  const scopes = [...parts.map((_, at) => parts.slice(0, parts.length - at).join('.')), '']
  return scopes.map((outer) => within(outer, name)).find((candidate) => declared.has(candidate))
}

function within(scope: string, name: string): string {
  return scope === '' ? name : `${scope}.${name}`
}

/** A file comes after those that it imports. */
function inOrder(files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] {
  const seen = new Set<string>()
  const withImports = (name: string): readonly FileDescriptorProto[] => {
    const file = files.get(name)
    if (file === undefined || seen.has(name)) return []
    seen.add(name)
    return [...file.dependency.flatMap(withImports), file]
  }
  return [...files.keys()].flatMap(withImports)
}
