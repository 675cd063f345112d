export type Money = { amount: number };
let calls = 0;

export function fail(why: string): any {
  calls++;
  const e: Error = new Error(why);
  throw e;
}

export const later = (): Promise<void> => new Promise((done) => setTimeout(done, 1));
