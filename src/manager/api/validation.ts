import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'

/**
 * Checks bodies and path parameters exactly as they came: nothing is converted, dropped or filled in, so that what was
 * asked is what is done.
 */
export const validateAsItCame: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const isBody = httpPart === 'body'
  return (data: unknown) => {
    const complaint =
      isBody && (data ?? null) === null ? 'is empty; send a JSON object, {} at least' : complaintOf(schema, data)
    if (complaint === undefined) return { value: data }
    return {
      error: new RegentError(
        isBody ? 'REGENT_BAD_REQUEST' : 'REGENT_BAD_NAME',
        say`the ${isBody ? say`body` : say`path`}: ${reported(complaint)}`,
      ),
    }
  }
}

function complaintOf(schema: TSchema, data: unknown): string | undefined {
  try {
    return complaintAbout(schema, data)
  } catch (error) {
    // Printing a value nested some ten thousand levels deep exhausts the stack.
    if (error instanceof RangeError) return 'is nested too deeply'
    throw error
  }
}
