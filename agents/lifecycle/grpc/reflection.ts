import { create, fromBinary, type DescMethod } from '@bufbuild/protobuf'
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema, type FileDescriptorProto } from '@bufbuild/protobuf/wkt'
import { registryOf } from './descriptors.ts'
import type { GrpcClient } from './grpc-client.ts'

/** The newer name first; older servers know the second. */
const services = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection']
const unimplemented = 12

/** Fields of a ServerReflectionRequest, and of its response. */
const asks = { fileByFilename: 3, fileContainingSymbol: 4 }
const answers = { files: 4, error: 7 }

/**
 * What a server says of one of its methods, and of the messages that the method takes and gives. Rejects with a
 * sentence where the server has no such method, or no reflection service.
 */
export async function reflectMethod(client: GrpcClient, service: string, method: string): Promise<DescMethod> {
  const told = await ask(client, asks.fileContainingSymbol, service)
  if (typeof told === 'string') throw new Error(`the server knows no ${service}: ${told}`)
  const registry = registryOf(await withImports(client, told))
  const found = registry.getService(service)?.methods.find(({ name }) => name === method)
  if (found === undefined) throw new Error(`${service} has no method ${method}`)
  return found
}

/** What a server does not tell of is taken as a file that declares nothing. */
async function withImports(client: GrpcClient, told: readonly FileDescriptorProto[]) {
  const files = new Map(told.map((file) => [file.name, file]))
  // Goes on over what is added meanwhile.
  for (const { dependency } of files.values())
    for (const name of dependency.filter((one) => !files.has(one))) {
      const more = await ask(client, asks.fileByFilename, name)
      files.set(name, create(FileDescriptorProtoSchema, { name }))
      for (const file of typeof more === 'string' ? [] : more) files.set(file.name, file)
    }
  return files
}

/** @returns files, or in words why there are none */
async function ask(client: GrpcClient, kind: number, name: string): Promise<readonly FileDescriptorProto[] | string> {
  const request = new BinaryWriter().tag(kind, WireType.LengthDelimited).string(name).finish()
  for (const service of services) {
    const answer = await client.call(`/${service}/ServerReflectionInfo`, request)
    if (!answer.ok && answer.code === unimplemented) continue
    if (!answer.ok) throw new Error(`the server’s reflection failed with code ${answer.code}: ${answer.words}`)
    const parts = partsOf(answer.message)
    const error = parts.get(answers.error)
    if (error !== undefined) return Buffer.from(partsOf(error).get(2) ?? []).toString()
    // A FileDescriptorResponse is written as a FileDescriptorSet is.
    return fromBinary(FileDescriptorSetSchema, parts.get(answers.files) ?? new Uint8Array()).file
  }
  throw new Error('the server has no reflection service, without which its messages are not known')
}

/** The texts and messages in a message, by their numbers. */
function partsOf(message: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const reader = new BinaryReader(message)
  const parts = new Map<number, Uint8Array>()
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    if (type === WireType.LengthDelimited) parts.set(number, reader.bytes())
    else reader.skip(type, number)
  }
  return parts
}
