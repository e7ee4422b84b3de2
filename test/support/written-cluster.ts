import type { WriterTarget } from './writer-wire.ts'

/** What a writer and its check need of a cluster, on this machine or on Kubernetes. */
export interface WrittenCluster {
  primary(): Promise<string>
  replicas(): Promise<readonly string[]>
  login(user: 'admin' | 'client'): Promise<{ readonly user: string; readonly password: string }>
  writerTarget(pinnedTo?: string): Promise<WriterTarget>
  sql(
    instance: string,
    statement: string,
    options?: { readonly user?: 'admin' | 'client'; readonly deadlineMs?: number },
  ): Promise<readonly Readonly<Record<string, unknown>>[]>
  value(instance: string, statement: string): Promise<string>
}
