import { isFields, textOf, type Fields } from './messages.ts'

/** The environment record: which tasks the workers of a component still have to do. */

/** The key of the environment ConfigMap `<cluster>-<component>-env`. */
export const taskKey = 'KB_AGENT_TASK'

/** The name of the ConfigMap that the pods of a component take their environment from. */
export function environmentOf(component: string): string {
  return `${component}-env`
}

/** @throws SyntaxError where the text is no list of tasks */
export function tasksIn(text: string | undefined): readonly Fields[] {
  const tasks: unknown = JSON.parse(text === undefined || text.trim() === '' ? '[]' : text)
  if (tasks === null) return []
  if (!Array.isArray(tasks)) throw new SyntaxError(`${taskKey} is no list`)
  if (!tasks.every(isFields)) throw new SyntaxError(`${taskKey} is no list of tasks`)
  return tasks
}

/** Whether the worker of that replica still has to do the task. */
export function isPending(tasks: readonly Fields[], task: TaskOfReplica): boolean {
  return tasks.some((each) => isThis(each, task) && replicasOf(each).includes(task.replica))
}

/** Whether the worker of that replica has another task of that name to do: one that was given later. */
export function isAskedAgain(tasks: readonly Fields[], task: TaskOfReplica): boolean {
  return tasks.some(
    (each) => each['task'] === task.task && !isThis(each, task) && replicasOf(each).includes(task.replica),
  )
}

/** The tasks without that replica; one that no replica is left for is dropped. What is not known is kept as it is. */
export function withoutReplica(tasks: readonly Fields[], task: TaskOfReplica): readonly Fields[] {
  return tasks.flatMap((each) => {
    if (!isThis(each, task)) return [each]
    const left = replicasOf(each).filter((name) => name !== task.replica)
    return left.length === 0 ? [] : [shortened(each, left.join(','))]
  })
}

/** The same task for these replicas, which the own part of the task names too. */
function shortened(task: Fields, replicas: string): Fields {
  const { newReplica } = task
  if (typeof newReplica !== 'object' || newReplica === null) return { ...task, replicas }
  return { ...task, replicas, newReplica: { ...newReplica, replicas } }
}

export interface TaskOfReplica {
  readonly task: string
  readonly uid: string
  readonly replica: string
}

function isThis(each: Fields, { task, uid }: TaskOfReplica): boolean {
  return each['task'] === task && textOf(each['UID']) === uid
}

function replicasOf(task: Fields): readonly string[] {
  return textOf(task['replicas'])
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
