import { addFile, fullName, noDescriptors, type Descriptors, type TypeName } from './descriptors.ts'
import type { GrpcClient } from './grpc-client.ts'
import { enumType } from './values.ts'
import { partsOf, readFields, textOf, writeText } from './protobuf.ts'

/** The newer name first; older servers know the second. */
const services = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection']
const unimplemented = 12

export interface ReflectedMethod {
  /** Full names of the messages that the method takes and gives. */
  readonly input: string
  readonly output: string
  readonly isStreaming: boolean
  readonly known: Descriptors
}

/**
 * What a server says of one of its methods, and of the messages that the method takes and gives. Rejects with a
 * sentence where the server has no such method, or no reflection service.
 */
export async function reflectMethod(client: GrpcClient, service: string, method: string): Promise<ReflectedMethod> {
  const known = noDescriptors()
  await addSymbol(client, known, service)
  const found = known.methods.get(`${service}/${method}`)
  if (found === undefined) throw new Error(`${service} has no method ${method}`)
  const look = (type: TypeName): Promise<string> => nameOfKnown(client, known, type)
  const [input, output] = [await look(found.input), await look(found.output)]
  for (const { type, typeName } of [...(known.messages.get(input) ?? []), ...(known.messages.get(output) ?? [])])
    if (type === enumType) await look(typeName)
  return { input, output, isStreaming: found.isStreaming, known }
}

/** The full name of a type; where the type is of a file that the server has not told of, that file is asked for. */
async function nameOfKnown(client: GrpcClient, known: Descriptors, type: TypeName): Promise<string> {
  const name = fullName(known, type)
  if (name !== undefined) return name
  const asked = type.name.replace(/^\./, '')
  await addSymbol(client, known, asked)
  return fullName(known, type) ?? asked
}

async function addSymbol(client: GrpcClient, known: Descriptors, symbol: string): Promise<void> {
  for (const service of services) {
    // ServerReflectionRequest: file_containing_symbol.
    const answer = await client.call(`/${service}/ServerReflectionInfo`, writeText(4, symbol))
    if (!answer.ok && answer.code === unimplemented) continue
    if (!answer.ok) throw new Error(`the server’s reflection failed with code ${answer.code}: ${answer.words}`)
    return addAnswer(known, symbol, answer.message)
  }
  throw new Error('the server has no reflection service, without which its messages are not known')
}

/** ServerReflectionResponse: file_descriptor_response, or error_response. */
function addAnswer(known: Descriptors, symbol: string, message: Buffer): void {
  const fields = readFields(message)
  const [error] = partsOf(fields, 7)
  if (error !== undefined) throw new Error(`the server knows no ${symbol}: ${textOf(readFields(error), 2)}`)
  for (const response of partsOf(fields, 4)) for (const file of partsOf(readFields(response), 1)) addFile(known, file)
}
