import { describe, expect, it } from 'vitest'
import { RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'
import { problemOf } from './problem.ts'

describe('a problem document', () => {
  it('carries the code, status, title and remedy of the catalogue and the words of the error', () => {
    expect(
      problemOf(new RegentError('REGENT_NOT_FOUND', say`no cluster "x"; there is: shop`), '/api/v1/clusters/x'),
    ).toEqual({
      type: 'urn:regent:error:REGENT_NOT_FOUND',
      title: 'No such thing',
      status: 404,
      code: 'REGENT_NOT_FOUND',
      detail: 'no cluster "x"; there is: shop',
      remedy: 'Name one of those that the message lists.',
      instance: '/api/v1/clusters/x',
    })
  })

  it('says nothing of what an unexpected error says', () => {
    const problem = problemOf(new Error('password is hunter2'), '/a')
    expect(problem).toMatchObject({ status: 500, code: 'REGENT_INTERNAL', detail: '/a could not be answered' })
    expect(JSON.stringify(problem)).not.toContain('hunter2')
  })
})
