import { Type, type TSchema } from 'typebox'
import { refTo } from '#api-contract/views.ts'

/** Every error, in every route. */
export const problemSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ description: 'Stable; docs/reference/errors.md lists them all.' }),
    detail: Type.String({ description: 'What was wrong, where, with the value.' }),
    remedy: Type.String({ description: 'What to do about it.' }),
    instance: Type.String({ description: 'Path of the request.' }),
  },
  { $id: 'Problem', description: 'RFC 9457 problem details.' },
)

const problemResponse = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: refTo(problemSchema) } },
})

export interface RouteDescription {
  readonly operationId: string
  readonly tag: 'clusters' | 'operations' | 'manager'
  readonly summary: string
  /** What is answered when all is well; a media type other than JSON names itself. */
  readonly answer: TSchema
  readonly answerType?: string
  readonly params?: TSchema
  readonly body?: TSchema
  /** Answered without a token. */
  readonly open?: boolean
}

/** A route's schema: its documentation, the check of what comes in and the shape of what goes out. */
export function routeSchema(route: RouteDescription) {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.params === undefined ? {} : { params: route.params }),
    ...(route.body === undefined ? {} : { body: route.body }),
    ...(route.open === true ? { security: [] } : {}),
    response: {
      200: { description: 'Done.', content: { [route.answerType ?? 'application/json']: { schema: route.answer } } },
      '4xx': problemResponse('Refused, with the reason and the remedy.'),
      '5xx': problemResponse('Failed, with what is known of why.'),
    },
  }
}
