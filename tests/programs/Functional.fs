module Functional
open System
open System.Collections.Generic
open System.Threading.Tasks

[<Struct>] type Point = { X: int; Y: int } with member p.Len = sqrt (float (p.X * p.X + p.Y * p.Y))
type Shape = Circle of float | Rect of w: float * h: float | Empty
exception MyErr of code: int * string
[<Measure>] type m
type IThing = abstract Do: int -> int
type Base(n: int) =
    let mutable count = n
    do if n < 0 then raise (MyErr(n, "neg"))
    member _.Count with get() = count and set v = count <- v
    abstract Twice: int -> int
    default this.Twice x = x * 2 + count
    static member val Total = 5 with get, set
    interface IThing with member this.Do x = this.Twice x + 1
type Derived(n, s: string) = 
    inherit Base(n + s.Length)
    override this.Twice x = base.Twice(x) * 10
let area = function Circle r -> Math.PI * r * r | Rect(w, h) when w > 0. -> w * h | Rect _ -> failwith "bad rect" | Empty -> 0.
let rec sumTo n acc = if n = 0 then acc else sumTo (n - 1) (acc + n)
let rec isEven n = if n = 0 then true else isOdd (n - 1)
and isOdd n = if n = 0 then false else isEven (n - 1)
let cont n = let rec go n k = if n = 0 then k 1 else go (n - 1) (fun r -> k (r + n)) in go n id
let (|Even|Odd|) n = if n % 2 = 0 then Even else Odd
let fizz n = match n with Even when n % 4 = 0 -> "four" | Even -> "even" | Odd -> "odd"
let gen n = seq { for i in 1 .. n do if i % 2 = 0 then yield i * i else yield! [ i; -i ] }
let work (n: int) = async { do! Async.Sleep 1
                            if n > 3 then return failwithf "too big %d" n else return n * 2 }
let tryIt f = try f () with | MyErr(c, s) -> sprintf "my %d %s" c s | :? InvalidOperationException as e -> e.Message | e when e.Message.StartsWith "too" -> "too" | Failure s -> "failure " + s
let inline add (a: ^T) (b: ^T) : ^T = a + b
let useIt () = use d = { new IDisposable with member _.Dispose() = printfn "disposed" } in 7
let rec deep n : int = if n = 0 then raise (InvalidOperationException "deep") else 1 + deep (n - 1)
let span (s: string) = s.Length
let byref (x: byref<int>) = x <- x + 1; x
let private lazyv = lazy (printfn "forced"; 42)
let tail (f: int -> int) x = f x
[<EntryPoint>]
let main argv =
    printfn "%A %f" { X = 3; Y = 4 } { X = 3; Y = 4 }.Len
    for s in [ Circle 1.; Rect(2., 3.); Empty ] do printfn "%.3f %A" (area s) s
    printfn "%d %b %d" (sumTo 1000000 0 % 1000) (isEven 1000) (cont 1000)
    for i in 1 .. 4 do printf "%s " (fizz i)
    printfn "%A" (gen 5 |> Seq.toList)
    for n in [ 1; 5 ] do printfn "%s" (tryIt (fun () -> string (Async.RunSynchronously (work n))))
    printfn "%s" (tryIt (fun () -> string (Derived(-9, "abc").Count)))
    printfn "%d %d" ((Derived(1, "abc") :> IThing).Do 3) Base.Total
    printfn "%s" (tryIt (fun () -> string (deep 5)))
    printfn "%s" (tryIt (fun () -> string (area (Rect(-1., 1.)))))
    printfn "%d %s %d" (add 1 2) (add "a" "b") (useIt ())
    printfn "%d" (span "hello")
    let mutable v = 3 in printfn "%d" (byref &v)
    printfn "%d %d" (lazyv.Force()) (lazyv.Force())
    let d = Dictionary<string, int>() in (d.["a"] <- 1; printfn "%A" (d.TryGetValue "a"))
    let r = [ 1 .. 20 ] |> List.map (fun i -> async { do! Async.Sleep(i % 3) 
                                                      return i }) |> Async.Parallel |> Async.RunSynchronously |> Array.sum
    printfn "%d" r
    let t = Async.StartAsTask (work 3) in printfn "%d" t.Result
    printfn "%A" (Map.ofList [ 1, "a"; 2, "b" ] |> Map.tryFind 2)
    printfn "%d" (query { for x in [ 1; 2; 3 ] do where (x > 1); sumBy x })
    printfn "%d" (tail (fun x -> x + 1) 5)
    try deep 3 |> ignore with e -> printfn "%s" (e.StackTrace.Split('\n').[0].Trim())
    let m = MailboxProcessor.Start(fun inbox -> let rec loop n = async { let! (msg, ch: AsyncReplyChannel<int>) = inbox.Receive() in ch.Reply(n + msg); return! loop (n + msg) } in loop 0)
    m.PostAndReply(fun ch -> 3, ch) |> ignore
    printfn "%d" (m.PostAndReply(fun ch -> 4, ch))
    0
