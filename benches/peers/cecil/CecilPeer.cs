using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

/// <summary>
/// The bench's peer: enter, exit and exception hooks in every method but constructors, with Mono.Cecil.
/// <c>CecilPeer IN.dll OUT.dll Weave.Runtime.dll FOLDER...</c>: the folders hold what the assembly refers to.
/// Short branches are made long, as code between them grows. Ids are counted; what they stand for is told nowhere.
/// </summary>
public static class CecilPeer
{
    public static int Main(string[] args)
    {
        var resolver = new DefaultAssemblyResolver();
        foreach (string folder in args.Skip(3).Concat(new[] { Path.GetDirectoryName(Path.GetFullPath(args[0])) }))
        {
            resolver.AddSearchDirectory(folder);
        }
        TypeDefinition hooks = ModuleDefinition.ReadModule(args[2]).GetType("Weave.Runtime.Hooks");
        using (ModuleDefinition module = ModuleDefinition.ReadModule(args[0], new ReaderParameters { AssemblyResolver = resolver, InMemory = true }))
        {
            int id = 0;
            Func<string, MethodReference> hook = name => module.ImportReference(hooks.Methods.First(m => m.Name == name));
            var work = new Work { Enter = hook("Enter"), Exit = hook("Exit"), Error = hook("Error") };
            work.Caught = work.Error.Parameters[0].ParameterType;
            foreach (TypeDefinition type in module.GetTypes())
            {
                foreach (MethodDefinition method in type.Methods.Where(m => m.HasBody && !m.IsConstructor))
                {
                    work.Weave(method, id++);
                }
            }
            module.Attributes |= ModuleAttributes.ILOnly;
            module.Write(args[1]);
        }
        return 0;
    }

    private sealed class Work
    {
        internal MethodReference Enter, Exit, Error;
        internal TypeReference Caught;

        private static readonly Dictionary<Code, OpCode> Long = typeof(OpCodes).GetFields().Select(f => (OpCode)f.GetValue(null))
            .Where(o => o.OperandType == OperandType.ShortInlineBrTarget)
            .ToDictionary(o => o.Code, o => (OpCode)typeof(OpCodes).GetField(o.Code.ToString().Replace("_S", "")).GetValue(null));

        internal void Weave(MethodDefinition method, int id)
        {
            MethodBody body = method.Body;
            TypeReference returned = method.ReturnType;
            while (returned is IModifierType)
            {
                returned = ((IModifierType)returned).ElementType;
            }
            VariableDefinition result = null;
            if (returned.MetadataType != MetadataType.Void)
            {
                body.Variables.Add(result = new VariableDefinition(method.ReturnType));
            }
            Instruction caught = Instruction.Create(OpCodes.Ldc_I4, id), end = Instruction.Create(OpCodes.Ldc_I4, id);
            var code = new List<Instruction> { Instruction.Create(OpCodes.Ldc_I4, id), Instruction.Create(OpCodes.Call, Enter) };
            Instruction first = body.Instructions[0];
            foreach (Instruction one in body.Instructions)
            {
                if (Long.TryGetValue(one.OpCode.Code, out OpCode wide))
                {
                    one.OpCode = wide;
                }
                if (one.OpCode == OpCodes.Ret)
                {
                    // Kept as the instruction that others branch to.
                    if (result != null)
                    {
                        one.OpCode = OpCodes.Stloc;
                        one.Operand = result;
                        code.Add(one);
                        code.Add(Instruction.Create(OpCodes.Leave, end));
                        continue;
                    }
                    one.OpCode = OpCodes.Leave;
                    one.Operand = end;
                }
                else if (one.OpCode == OpCodes.Tail)
                {
                    one.OpCode = OpCodes.Nop;
                }
                code.Add(one);
            }
            code.AddRange(new[] { caught, Instruction.Create(OpCodes.Call, Error), Instruction.Create(OpCodes.Rethrow), end, Instruction.Create(OpCodes.Call, Exit) });
            if (result != null)
            {
                code.Add(Instruction.Create(OpCodes.Ldloc, result));
            }
            code.Add(Instruction.Create(OpCodes.Ret));
            body.Instructions.Clear();
            foreach (Instruction one in code)
            {
                body.Instructions.Add(one);
            }
            body.ExceptionHandlers.Add(new ExceptionHandler(ExceptionHandlerType.Catch)
            {
                CatchType = Caught, TryStart = first, TryEnd = caught, HandlerStart = caught, HandlerEnd = end,
            });
        }
    }
}
